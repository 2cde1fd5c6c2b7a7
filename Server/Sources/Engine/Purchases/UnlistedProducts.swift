import Ledger
import Storage
import Synchronization

/// A product that was bought and that the configuration does not list. An unlisted product gives no
/// access.
package struct MissingListing: Hashable, Sendable {
    package var product: ProductID
    /// The line to add to the configuration, such as `guide: [pro]`.
    package var line: String
    /// The remedy as one sentence, which contains ``line``.
    package var remedy: String
}

/// The customers' purchases of a product that the configuration does not list.
package struct UnlistedSales: Hashable, Sendable {
    package var product: MissingListing
    /// The number of purchases that would give access now. At most ``BoughtProduct/newestMax`` are
    /// counted.
    package var purchases: Int
    /// When the first of these purchases was bought.
    package var since: Instant
}

/// Records which products were looked up in the configuration, so that each product that gives
/// nothing is logged only once. Also caches the purchases of these products, so that pages do not
/// query the database each second.
final class UnlistedProducts: Sendable {
    /// The maximum number of products that are looked up.
    static let productsMax = 1000
    /// How long a result is used before the database is queried again.
    fileprivate static let age = Duration.seconds(5)

    private struct Place: Hashable {
        let app: AppID
        let product: ProductID
    }

    fileprivate struct Key: Hashable {
        let app: AppID
        let environment: Environment
    }

    private let known = Mutex<Set<Place>>([])
    private let sales = Mutex<[Key: (at: Instant, sales: [UnlistedSales])]>([:])

    /// Records that a product was looked up. Returns whether it was not looked up before.
    func isNew(_ product: ProductID, of app: AppID) -> Bool {
        known.withLock { known in
            known.count < Self.productsMax
                && known.insert(Place(app: app, product: product)).inserted
        }
    }

    fileprivate func sales(_ key: Key, at now: Instant) -> [UnlistedSales]? {
        sales.withLock { $0[key] }.flatMap { found in
            found.at <= now && now < found.at + Self.age ? found.sales : nil
        }
    }

    /// The latest result, however old.
    fileprivate func lastSales(_ key: Key) -> [UnlistedSales] {
        sales.withLock { $0[key]?.sales ?? [] }
    }

    fileprivate func save(_ found: [UnlistedSales], _ key: Key, at now: Instant) {
        sales.withLock { $0[key] = (now, found) }
    }
}

extension AppSettings {
    /// The product of a purchase that would give access now if the configuration listed it. Returns
    /// nil if the product is listed, or if the purchase has ended.
    func unlistedProduct(of timeline: Timeline, at now: Instant) -> ProductID? {
        guard let period = timeline.period(at: now) ?? timeline.latestPeriod,
            !lists(period.product), !countsItself(period.payment.kind)
        else { return nil }
        if let access = timeline.access(at: now, rules: rules) {
            return access.isOpen ? period.product : nil
        }
        return period.payment.revocation == nil ? period.product : nil
    }

    /// Whether the app itself, and not a wallet, counts the units of a product that a customer has.
    /// True for consumables if no wallets are configured.
    func countsItself(_ kind: ProductKind) -> Bool {
        kind == .consumable && wallets.credits.isEmpty
    }

    /// The remedy for a product that the configuration does not list.
    func unlisted(_ product: ProductID) -> MissingListing {
        let example = entitlements.keys.min()?.rawValue ?? "pro"
        let line = "\(product): [\(example)]"
        return MissingListing(
            product: product, line: line,
            remedy: "Add `\(line)` under products of \(id) in perennial.yaml, with the "
                + "entitlements that the product gives; or `\(product): []` if it gives none.")
    }
}

extension CustomerState {
    /// The products of the customer's purchases that the configuration does not list, sorted by id.
    package var unlistedProducts: [MissingListing] {
        var found: [ProductID: MissingListing] = [:]
        for purchase in purchases {
            if let unlisted = purchase.unlisted { found[unlisted.product] = unlisted }
        }
        return found.values.sorted { $0.product < $1.product }
    }
}

extension RecordingService {
    /// Logs products that were bought and give nothing.
    func logUnlistedProducts(of attestation: VerifiedDocument) {
        guard let app = context.apps[attestation.document.app] else { return }
        for fact in attestation.facts {
            guard case .payment(let payment) = fact.statement, !app.countsItself(payment.kind),
                unlistedProducts.isNew(payment.product, of: app.id), !app.lists(payment.product)
            else { continue }
            context.logger.warning(
                "a product was bought that gives nothing, because perennial.yaml does not list it",
                metadata: [
                    "app": "\(app.id)", "product": "\(payment.product)",
                    "remedy": "\(app.unlisted(payment.product).remedy)",
                ])
        }
    }

    /// The products that customers have bought and that the configuration does not list. Reads the
    /// database at most every few seconds.
    package func unlistedSales(
        of appID: AppID, in environment: Environment
    ) async throws(EngineFailure) -> [UnlistedSales] {
        let (app, _) = try context.app(appID)
        let now = context.now()
        let key = UnlistedProducts.Key(app: appID, environment: environment)
        if let known = unlistedProducts.sales(key, at: now) { return known }
        let found = try await context.read { tx in
            try tx.sales.boughtProducts(
                of: appID, in: environment, at: now, limit: UnlistedProducts.productsMax
            ) { !app.lists($0) && !app.countsItself($1) }
        }
        let sales = found.map {
            UnlistedSales(
                product: app.unlisted($0.product), purchases: $0.purchases, since: $0.since)
        }
        unlistedProducts.save(sales, key, at: now)
        return sales
    }

    /// The last result of ``unlistedSales(of:in:)``, in both environments.
    package func lastUnlistedSales(of app: AppID) -> [UnlistedSales] {
        Environment.allCases.flatMap {
            unlistedProducts.lastSales(UnlistedProducts.Key(app: app, environment: $0))
        }
    }

    /// The products that customers have bought in either environment and that the configuration
    /// does not list.
    package func unlistedSales(of app: AppID) async throws(EngineFailure) -> [UnlistedSales] {
        var sales: [UnlistedSales] = []
        for environment in Environment.allCases {
            sales += try await unlistedSales(of: app, in: environment)
        }
        return sales
    }
}
