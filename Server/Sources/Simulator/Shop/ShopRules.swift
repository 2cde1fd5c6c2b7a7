import AppStoreFormats

/// What a world begins with on the buying side, beside the shop's file: mostly what the file's
/// settings say, and what a file cannot say.
package struct ShopRules: Hashable, Sendable {
    /// Families in one world.
    package static let familiesMax = 10_000

    /// Whether purchases wait until a parent approves; an account may differ.
    package var asksToBuy = false
    /// Whether purchases stop at an issue until it is resolved.
    package var interruptsPurchases = false
    /// Whether every purchase fails.
    package var failsPurchases = false
    /// Whether the bank refuses every renewal.
    package var renewalsFail = false
    /// The accounts of each family, by its name. They join when their first device is added.
    package var families: [String: [String]] = [:]
    package var prices = PriceList()

    package init() {}

    /// The family that an account joins by itself.
    func family(of account: String) -> String? {
        families.first { $0.value.contains(account) }?.key
    }

    /// Takes over what a shop's file says, and leaves the rest.
    package mutating func take(_ settings: StoreKitSettings) {
        asksToBuy = settings.asksToBuy ?? asksToBuy
        interruptsPurchases = settings.interruptsPurchases ?? interruptsPurchases
        failsPurchases = settings.failsPurchases ?? failsPurchases
        renewalsFail = settings.renewalsFail ?? renewalsFail
    }
}
