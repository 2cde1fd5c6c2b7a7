import Ledger
import Storage

/// Writes what customers may use, and the balances of their wallets, as rows that operators read
/// with SQL: see docs/sql.md. The event log shows which customers have changed, so that their rows
/// must be written again.
extension CustomerService {
    /// The number of customers that one step writes during a pass over all customers.
    static let shownAtOnce = 50
    /// The number of events that one step processes.
    static let followedAtOnce = 200

    /// Writes the next rows for every app. Returns the number of customers and events that were
    /// processed; 0 if nothing is left. Idempotent, and safe for several servers at once. If a
    /// server is killed, another server continues.
    package func show() async throws(EngineFailure) -> Int {
        var count = 0
        for app in context.apps.values.sorted(by: { $0.id < $1.id }) {
            count += try await show(of: app)
        }
        return count
    }

    private func show(of app: AppSettings) async throws(EngineFailure) -> Int {
        let rules = app.shownRules
        let now = context.now()
        let (showing, isDue) = try await context.read { tx in
            let showing = try tx.shown.showing(of: app.id)
            return (
                showing,
                try showing.map { try CustomerFinder(tx).isDue($0, in: app.id, at: now) } ?? true
            )
        }
        let begins = showing?.rules != rules
        // Each server begins a pass at most once. Otherwise two servers with different settings
        // would restart each other's pass again and again.
        guard begins ? !shownRuleChecks.isDone(app.id) : isDue else { return 0 }
        // This transaction reads rows that many other transactions write. If it were serializable,
        // it would conflict with most of them. A snapshot is enough: no other code relies on the
        // rows that are written here, and two servers conflict on the row in `showings`.
        let count = try await context.snapshotTransaction { tx in
            if begins { try tx.shown.begin(of: app.id, by: rules) }
            return try CustomerFinder(tx).showNext(of: app, at: now)
        }
        shownRuleChecks.markDone(app.id)
        if begins || showing?.customer != nil {
            context.logger.info(
                "rows about customers are being written",
                metadata: ["app": "\(app.id)", "customers": "\((showing?.shown ?? 0) + count)"])
        }
        return count
    }
}

extension ShownEntitlement {
    init(_ entitlement: EntitlementID, _ status: EntitlementStatus, at now: Instant) {
        self.init(entitlement, status.state)
        until = status.until
        changesAt = status.state.isOpen ? status.until.flatMap { $0 > now ? $0 : nil } : nil
        willRenew = status.willRenew
        switch status.source {
        case .purchase(let purchase, let product):
            (self.purchase, self.product) = (purchase, product)
        case .grant(let grant): self.grant = grant
        }
    }
}

extension AppSettings {
    /// The version of the rows' format. Increase it when the format changes, so that existing rows
    /// are written again.
    private static let shownLayout = 2

    /// A text that identifies the settings that affect the rows: equal settings give equal text.
    fileprivate var shownRules: String {
        let rights = entitlements.map { entitlement, products in
            "\(entitlement)=\(products.map(\.rawValue).sorted().joined(separator: "+"))"
        }
        let currencies = wallets.allCurrencies.map(\.rawValue)
        let credits = wallets.credits.map { product, credits in
            "\(product)=" + credits.map { "\($0.key):\($0.value)" }.sorted().joined(separator: "+")
        }
        let lengths = terms.products.keys.map(\.rawValue)
        return "\(Self.shownLayout) "
            + [rights, currencies, credits, lengths].map { $0.sorted().joined(separator: ",") }
            .joined(separator: " ")
    }
}
