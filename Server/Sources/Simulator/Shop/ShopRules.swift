import AppStoreFormats

/// The initial rules for purchases: mostly settings of the shop's file, and others that a file
/// cannot express.
package struct ShopRules: Hashable, Sendable {
    /// Maximum number of families in one world.
    package static let familiesMax = 10_000

    /// Whether purchases wait until a parent approves. Accounts may override it.
    package var asksToBuy = false
    /// Whether purchases stop at an issue until it is resolved.
    package var interruptsPurchases = false
    /// Whether every purchase fails.
    package var failsPurchases = false
    /// Whether the payment of every renewal fails.
    package var renewalsFail = false
    /// The accounts of each family, by its name. An account joins when its first device is added.
    package var families: [String: [String]] = [:]
    package var prices = PriceList()
    /// The products that are sold in seats, with their tiers.
    package var seats = SeatPrices()
    /// Whether Apple or the app's server invites the members of a group that begins.
    package var seatInvitations = SeatInvitations.apple

    package init() {}

    /// The family that an account joins when its first device is added. Nil for none.
    func family(of account: String) -> String? {
        families.first { $0.value.contains(account) }?.key
    }

    /// Applies the settings of a shop's file that are present.
    package mutating func apply(_ settings: StoreKitSettings) {
        asksToBuy = settings.asksToBuy ?? asksToBuy
        interruptsPurchases = settings.interruptsPurchases ?? interruptsPurchases
        failsPurchases = settings.failsPurchases ?? failsPurchases
        renewalsFail = settings.renewalsFail ?? renewalsFail
    }
}
