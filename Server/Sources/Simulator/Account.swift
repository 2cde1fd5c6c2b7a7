import AppStoreFormats

/// Production or sandbox: two stores that know nothing of each other.
package enum SimulatedEnvironment: String, Hashable, Sendable, Comparable, CaseIterable {
    case production
    case sandbox

    /// Apple's word for it.
    package var storeEnvironment: StoreEnvironment {
        switch self {
        case .production: .production
        case .sandbox: .sandbox
        }
    }

    package static func < (one: Self, other: Self) -> Bool { one.rawValue < other.rawValue }
}

/// An Apple account, as far as one environment knows it.
struct Account: Sendable {
    struct Key: Hashable, Sendable, Comparable {
        let name: String
        let environment: SimulatedEnvironment

        static func < (one: Self, other: Self) -> Bool {
            (one.name, one.environment) < (other.name, other.environment)
        }
    }

    let key: Key
    /// One for each account and app.
    let appTransactionID: String
    /// When the app was first had.
    let downloaded: AppStoreDate
    /// The chain of each subscription group: its original transaction id.
    var chains: [String: String] = [:]
    /// Everything else, in order of purchase.
    var oneTimePurchases: [String] = []
    /// Groups whose introductory offer is used up, refunded or not.
    var introductoryOffersUsed: Set<String> = []
    /// Codes' offers, each of which a customer has once: `PRODUCT/OFFER`.
    var codesRedeemed: Set<String> = []
    /// The chains that follow those of others in the family, oldest first.
    var sharedChains: [String] = []
    var family: Family.Key?
    /// Whether its purchases wait for a parent; nil as the world has it.
    var asksToBuy: Bool?

    init(key: Key, appTransactionID: String, downloaded: AppStoreDate) {
        self.key = key
        self.appTransactionID = appTransactionID
        self.downloaded = downloaded
    }
}

/// A device that an account is signed in on.
struct Device: Sendable {
    let id: String
    var account: Account.Key
    var storefront: Storefront
    /// Given to purchases that name none themselves.
    let appAccountToken: String?
    /// How fast subscriptions bought on it renew.
    var pace = Pace.realTime
}
