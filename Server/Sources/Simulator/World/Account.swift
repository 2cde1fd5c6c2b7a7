import AppStoreFormats

/// The production or sandbox App Store. The two share no state.
package enum SimulatedEnvironment: String, Hashable, Sendable, Comparable, CaseIterable {
    case production
    case sandbox

    /// Apple's name for the environment.
    package var storeEnvironment: StoreEnvironment {
        switch self {
        case .production: .production
        case .sandbox: .sandbox
        }
    }

    package static func < (one: Self, other: Self) -> Bool { one.rawValue < other.rawValue }
}

/// An Apple account, as one environment sees it.
struct Account: Sendable {
    struct Key: Hashable, Sendable, Comparable {
        let name: String
        let environment: SimulatedEnvironment

        static func < (one: Self, other: Self) -> Bool {
            (one.name, one.environment) < (other.name, other.environment)
        }
    }

    let key: Key
    /// Identifies the pair of account and app.
    let appTransactionID: String
    /// When the account first downloaded the app.
    let downloaded: AppStoreDate
    /// The original transaction id of the chain in each subscription group.
    var chains: [String: String] = [:]
    /// Ids of all other purchases, in order of purchase.
    var oneTimePurchases: [String] = []
    /// Groups in which the introductory offer was used, even if that purchase was refunded.
    var introductoryOffersUsed: Set<String> = []
    /// Redeemed code offers as `PRODUCT/OFFER`. A customer can redeem each code once.
    var codesRedeemed: Set<String> = []
    /// Chains shared by other family members, oldest first.
    var sharedChains: [String] = []
    var family: Family.Key?
    /// Whether purchases wait for a parent's approval. If nil, the world's setting applies.
    var asksToBuy: Bool?

    init(key: Key, appTransactionID: String, downloaded: AppStoreDate) {
        self.key = key
        self.appTransactionID = appTransactionID
        self.downloaded = downloaded
    }
}

/// A device that an account is signed in to.
struct Device: Sendable {
    let id: String
    var account: Account.Key
    var storefront: Storefront
    /// The app account token of purchases that do not name a token.
    let appAccountToken: String?
    /// The newest id when the account was signed in. Transactions with newer ids are announced on
    /// the device.
    var joined = ""
    /// How fast subscriptions bought on this device renew.
    var pace = Pace.realTime
}
