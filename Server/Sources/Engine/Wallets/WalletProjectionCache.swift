import Ledger
import Storage

/// A cache of the wallets that a transaction changes several times: each is read once, and then
/// kept up to date with later writes.
///
/// It knows only of documents recorded and purchases linked with it. After any other change of
/// ownership, start with an empty cache.
struct WalletProjectionCache {
    private var projections: [Key: WalletProjection] = [:]

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
    var all: [(Key, WalletProjection)] { projections.sorted { $0.key < $1.key } }

    /// Removes and returns a customer's wallets from the cache, reading them if necessary; check
    /// them in again after changing them. Returns nil if the app has no wallets.
    mutating func checkOut(
        of customer: CustomerID, in app: AppID, _ environment: Environment, _ tx: DatabaseSession
    ) throws(StorageFailure) -> WalletProjection? {
        let key = Key(app: app, customer: customer, environment: environment)
        if let wallet = projections.removeValue(forKey: key) { return wallet }
        return try WalletUpdates(tx).projection(of: customer, in: app, environment)
    }

    mutating func checkIn(_ wallet: WalletProjection?, in app: AppID) {
        guard let wallet else { return }
        projections[Key(app: app, customer: wallet.customer, environment: wallet.environment)] =
            wallet
    }
}
