import Ledger
import Storage

/// Writes what customers may use, and what is in their wallets, as rows that operators read with
/// SQL: see docs/sql.md. The log says whose rows to write again.
extension Engine {
    /// The number of customers that one step writes while all of them are written.
    static let shownAtOnce = 50
    /// The number of events that one step follows.
    static let followedAtOnce = 200

    /// Does a step of this work for every app. Returns how much was done; 0 if nothing is left.
    /// Idempotent, and safe for several servers at once; a server that is killed leaves the rest to
    /// the next one.
    package func showCustomers() async throws(EngineFailure) -> Int {
        var count = 0
        for app in apps.values.sorted(by: { $0.id < $1.id }) {
            count += try await showCustomers(of: app)
        }
        return count
    }

    private func showCustomers(of app: AppSettings) async throws(EngineFailure) -> Int {
        let rules = app.shownRules
        let now = now()
        let (showing, isDue) = try await read { tx in
            let showing = try tx.showing(of: app.id)
            return (showing, try showing.map { try tx.isDue($0, in: app.id, at: now) } ?? true)
        }
        let begins = showing?.rules != rules
        // Each server begins once, so that two with different settings do not begin in turns.
        guard begins ? !shownRuleChecks.isDone(app.id) : isDue else { return 0 }
        // It reads what many writers write, so as a serializable transaction it would conflict with
        // most of them. Nobody relies on its rows, and two servers change the row in `showings`.
        let count = try await snapshotTransaction { tx in
            if begins { try tx.beginShowing(of: app.id, by: rules) }
            return try tx.showNext(of: app, at: now)
        }
        shownRuleChecks.markDone(app.id)
        if begins || showing?.customer != nil {
            logger.info(
                "rows about customers are being written",
                metadata: ["app": "\(app.id)", "customers": "\((showing?.shown ?? 0) + count)"])
        }
        return count
    }
}

extension DatabaseSession {
    /// Whether there is something to write.
    fileprivate func isDue(_ showing: Showing, in app: AppID, at now: Instant) throws -> Bool {
        if showing.customer != nil { return true }
        if try !events(of: app, after: showing.sequence, limit: 1).isEmpty { return true }
        return try !customersToShow(in: app, at: now, limit: 1).isEmpty
    }

    fileprivate func showNext(of app: AppSettings, at now: Instant) throws -> Int {
        guard var showing = try showing(of: app.id, isLocking: true) else { return 0 }
        var customers: Set<CustomerID> = []
        var followed = 0
        if let last = showing.customer {
            let next = try self.customers(of: app.id, after: last, limit: Engine.shownAtOnce)
            customers = Set(next)
            showing.customer = next.count < Engine.shownAtOnce ? nil : next.last
            showing.shown += next.count
            followed = 1
        } else {
            let news = try customersConcerned(
                in: app.id, after: showing.sequence, limit: Engine.followedAtOnce)
            customers = news.customers
            followed = news.last == nil ? 0 : 1
            showing.sequence = news.last ?? showing.sequence
            customers.formUnion(
                try customersToShow(in: app.id, at: now, limit: Engine.shownAtOnce))
        }
        for customer in customers.sorted() { try show(customer, of: app, at: now) }
        try save(showing, of: app.id)
        return max(followed, customers.count)
    }

    private func show(_ id: CustomerID, of app: AppSettings, at now: Instant) throws {
        let known = try customer(known: id, in: app.id)
        if known?.customer != id { try deleteShown(id, in: app.id) }
        guard let customer = known?.customer else { return }
        for environment in Environment.allCases {
            let state = try state(of: customer, in: app, environment: environment, at: now)
            try show(
                state.entitlements.sorted { $0.key < $1.key }.map { entitlement, status in
                    ShownEntitlement(entitlement, status, at: now)
                }, of: customer, in: app.id, environment)
            let payments = state.purchases.filter(\.isOwn)
                .flatMap { $0.timeline.periods.map(\.payment) }
            for currency in app.wallets.allCurrencies.sorted() {
                let wallet = try wallet(
                    currency, of: customer, payments, in: app, environment: environment)
                try show(wallet.entries, in: currency, of: customer, in: app.id, environment)
            }
        }
    }
}

extension ShownEntitlement {
    fileprivate init(_ entitlement: EntitlementID, _ status: EntitlementStatus, at now: Instant) {
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
    /// Raised when rows are written differently, so that existing ones are written again.
    private static let shownLayout = 2

    /// The same text for the same settings of what rows say.
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
