import Ledger

/// A cache of the wallets that a transaction changes several times: each is read once, and then
/// kept up to date with later writes.
///
/// It is aware only of documents recorded and purchases linked with it. After any other change of
/// ownership, start with an empty cache.
package struct Purses {
    private var found: [Key: Purse] = [:]

    package init() {}

    struct Key: Hashable, Comparable {
        var app: AppID
        var customer: CustomerID
        var environment: Environment

        static func < (one: Self, other: Self) -> Bool {
            (one.app, one.customer, one.environment.rawValue)
                < (other.app, other.customer, other.environment.rawValue)
        }
    }

    /// Ordered by key, so that two servers never deadlock.
    var all: [(Key, Purse)] { found.sorted { $0.key < $1.key } }

    /// Removes and returns a customer's wallets from the cache, reading them if necessary; check
    /// them in again after changing them. Returns nil if the app has no wallets.
    mutating func take(
        of customer: CustomerID, in app: AppID, _ environment: Environment, _ tx: StoreTransaction
    ) throws(StorageFailure) -> Purse? {
        let key = Key(app: app, customer: customer, environment: environment)
        if let purse = found.removeValue(forKey: key) { return purse }
        return try tx.purse(of: customer, in: app, environment)
    }

    mutating func put(_ purse: Purse?, in app: AppID) {
        guard let purse else { return }
        found[Key(app: app, customer: purse.customer, environment: purse.environment)] = purse
    }
}
