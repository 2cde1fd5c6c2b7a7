import Ledger
import Storage

/// A cache of the wallets that a transaction changes several times: each wallet is read once, and
/// then kept up to date with later writes.
///
/// The cache contains only the effects of documents and links that were recorded with it. After any
/// other change of ownership, start with an empty cache.
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

    /// All cached wallets, ordered by key so that two servers never deadlock.
    var all: [(Key, WalletProjection)] { projections.sorted { $0.key < $1.key } }

    /// Removes a customer's wallets from the cache and returns them, after reading them if
    /// necessary. The caller must check them in again after changing them. Returns nil if the app
    /// has no wallets.
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
