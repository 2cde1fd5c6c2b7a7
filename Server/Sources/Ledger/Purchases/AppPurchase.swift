/// The app itself, as a store account got it: bought, or downloaded for nothing.
package struct AppPurchase: Hashable, Sendable {
    /// The store's number for the account's copy of the app (Apple: `appTransactionId`).
    package var transaction: TransactionID
    package var from: Instant
    /// The version that the account got first: a build number, or on a Mac the version that people
    /// see. Nil if the App Store does not say.
    package var version: String?
    package var isOnMac: Bool

    package init(
        transaction: TransactionID, from: Instant, version: String?, isOnMac: Bool = false
    ) {
        self.transaction = transaction
        self.from = from
        self.version = version
        self.isOnMac = isOnMac
    }
}

extension PurchaseID {
    /// No transaction's number begins like this.
    private static let appPrefix = "app:"

    /// The purchase of the app itself.
    package init(ofApp transaction: TransactionID, in environment: Environment) {
        self.init(
            TransactionID(rawValue: Self.appPrefix + transaction.rawValue), in: environment)
    }

    /// The store's number for an account's copy of the app, if this is the purchase of an app.
    package var appTransaction: TransactionID? {
        guard original.rawValue.hasPrefix(Self.appPrefix) else { return nil }
        return TransactionID(
            rawValue: String(original.rawValue.dropFirst(Self.appPrefix.count)))
    }
}

extension AppPurchase: CanonicallyOrdered {
    var canonicalOrder: [String] {
        [version ?? "", from.description, isOnMac ? "1" : "0", transaction.rawValue]
    }
}
