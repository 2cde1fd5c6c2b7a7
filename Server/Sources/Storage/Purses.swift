import Ledger

/// The purses of those whose wallets a transaction changes several times: each is read once, and
/// then as what was written since leaves it.
///
/// Documents that are kept and purchases that are linked with these are all that they know of:
/// after any other change of whose a purchase is they begin anew.
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

    /// In the order of their keys, so that two servers never wait for each other.
    var all: [(Key, Purse)] { found.sorted { $0.key < $1.key } }

    /// Takes a purse out, to be changed and put in again. Nil where the app has no wallets.
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
