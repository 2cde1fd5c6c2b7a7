import AppStoreFormats
import Ledger
import Rehearsal
import Storage

/// The stored data of a customer, for a comparison with RevenueCat.
package struct RehearsedCustomer: Hashable, Sendable {
    /// All ids of the customer. If the requested id is unknown, only this id.
    package var ids: [CustomerID]
    /// The entitlements that the customer has or had.
    package var opinions: [EntitlementID: RehearsalOpinion]
    /// The transactions of the customer's purchases that give or gave each entitlement.
    package var transactions: [EntitlementID: Set<TransactionID>]
    /// The transactions of all purchases that the customer has or shares, even if the products give
    /// no entitlement here.
    package var allTransactions: Set<TransactionID>
    /// The opinion that follows from each purchase by itself, for entitlements that several
    /// purchases give.
    package var parts: [EntitlementID: [RehearsalOpinion]]

    /// Whether a transaction belongs to the customer. False for nil.
    package func has(_ transaction: TransactionID?) -> Bool {
        transaction.map { allTransactions.contains($0) } ?? false
    }

    /// Whether any entitlement is open.
    package var hasAccess: Bool { opinions.values.contains(where: \.isOpen) }

    /// Our opinion about an entitlement. Several purchases may give the entitlement until the same
    /// end. Then two systems may name different purchases, and both are right. So in this case,
    /// returns the opinion that follows from the purchase that the other system names.
    package func opinion(
        of entitlement: EntitlementID, besides theirs: RehearsalOpinion
    ) -> RehearsalOpinion {
        guard let ours = opinions[entitlement] else { return .none }
        guard ours.isOpen, theirs.isOpen, let transaction = theirs.transaction,
            ours.transaction != transaction
        else { return ours }
        let same = parts[entitlement]?.first {
            $0.isOpen && $0.until == ours.until && $0.transaction == transaction
        }
        return same ?? ours
    }
}

/// Reads the data that a rehearsal of the move from RevenueCat compares, and signs the result of
/// the rehearsal. Changes nothing.
package struct RehearsalService: Sendable {
    let context: Context
    let tokens: TokenService

    /// The maximum number of customers in one page of ``customers(of:after:)``.
    package static let pageMax = 500
    /// The maximum number of our documents that are shown as evidence. Only the newest are shown.
    package static let documentsMax = 5
    /// The maximum number of documents that are left out, the newest first, to find out which
    /// documents RevenueCat does not count.
    package static let alternativesMax = 40
    /// The `typ` of the signed summary, so that no verifier mistakes it for a token.
    private static let type = "rehearsal+jwt"

    /// The customers of an app after a given one, in the order of their ids.
    ///
    /// - Returns: the customers, without erased customers, and the id after which the next page
    ///   begins. The id is nil if there is no further page.
    package func customers(
        of app: AppID, after last: CustomerID?
    ) async throws(EngineFailure) -> (customers: [CustomerID], last: CustomerID?) {
        try await context.read { tx in
            let page = try tx.customers.all(of: app, after: last, limit: Self.pageMax)
            return (
                try page.filter { try tx.customers.find(known: $0, in: app) != nil }, page.last
            )
        }
    }

    /// What this server says about a customer now. An unknown id has no entitlements.
    package func customer(
        _ id: CustomerID, app appID: AppID, in environment: Environment
    ) async throws(EngineFailure) -> RehearsedCustomer {
        let (app, _) = try context.app(appID)
        let now = context.now()
        return try await context.read { tx in
            let state = try CustomerReader(tx).state(
                of: id, in: app, environment: environment, at: now)
            let timelines = state.purchases.map(\.timeline)
            return RehearsedCustomer(
                ids: [id] + state.aliases,
                opinions: state.entitlements.mapValues {
                    RehearsalOpinion($0, of: timelines, at: now)
                },
                transactions: app.entitlements.mapValues { products in
                    Set(timelines.flatMap { $0.transactions(of: products) })
                },
                allTransactions: Set(timelines.flatMap { $0.copies.map(\.payment.transaction) }),
                parts: app.entitlements.mapValues { products in
                    timelines.count < 2
                        ? [] : timelines.compactMap { app.opinion(by: $0, products, at: now) }
                })
        }
    }

    /// Our documents about those purchases of a customer that give or gave an entitlement, and what
    /// we would answer if some of these documents were missing.
    package func evidence(
        about entitlement: EntitlementID, of id: CustomerID, app appID: AppID,
        in environment: Environment
    ) async throws(EngineFailure) -> RehearsalEvidence {
        let (app, _) = try context.app(appID)
        let now = context.now()
        return try await context.read { tx in
            let state = try CustomerReader(tx).state(
                of: id, in: app, environment: environment, at: now)
            let products = app.entitlements[entitlement] ?? []
            let relevant = state.purchases.map(\.timeline).filter { timeline in
                timeline.seat == nil && !timeline.transactions(of: products).isEmpty
            }
            var facts: [FactWithSource] = []
            for timeline in relevant {
                facts += try tx.facts.all(about: timeline.purchase, in: appID)
            }
            return RehearsalTrail(
                facts: facts, entitlement: entitlement, app: app, grants: state.grants, now: now
            ).evidence
        }
    }

    /// Those of the given transactions that are stored, whichever customer has their purchases.
    /// Reads all transactions of the app once.
    package func known(
        _ transactions: Set<TransactionID>, app: AppID, in environment: Environment
    ) async throws(EngineFailure) -> Set<TransactionID> {
        guard !transactions.isEmpty else { return [] }
        return try await context.scan { tx in
            try tx.money.known(transactions, in: app, environment: environment)
        }
    }

    /// Whether the configuration of an app lists a product.
    package func lists(_ product: ProductID, app: AppID) throws(EngineFailure) -> Bool {
        try context.app(app).0.lists(product)
    }

    // MARK: - Signature

    /// Signs the summary of a rehearsal with the app's key for tokens. Returns nil if the app has
    /// no key yet. A rehearsal only reads, so it creates no key.
    package func sign(_ claims: JSON, of app: AppID) async throws(EngineFailure) -> String? {
        try await tokens.statement(claims, type: Self.type, of: app)
    }

    /// The claims of a summary that a present or retired key of the app has signed. Returns nil for
    /// any other text.
    package func verify(_ text: String, of app: AppID) async throws(EngineFailure) -> JSON? {
        try await tokens.verifiedStatement(text, type: Self.type, of: app)
    }
}

extension Timeline {
    /// The transactions of the purchase, if any of them is for one of these products.
    fileprivate func transactions(of products: Set<ProductID>) -> [TransactionID] {
        guard periods.contains(where: { products.contains($0.product) }) else { return [] }
        return copies.map(\.payment.transaction)
    }
}

extension AppSettings {
    /// What one purchase gives by itself.
    fileprivate func opinion(
        by timeline: Timeline, _ products: Set<ProductID>, at now: Instant
    ) -> RehearsalOpinion? {
        Entitlement.access(through: products, of: [timeline], at: now, rules: rules).map {
            RehearsalOpinion(EntitlementStatus($0), of: [timeline], at: now)
        }
    }
}

extension RehearsalOpinion {
    init(_ status: EntitlementStatus, of timelines: [Timeline], at now: Instant) {
        let timeline = timelines.first { $0.purchase == status.purchase }
        let payment = timeline?.period(at: now)?.payment
        self.init(
            isOpen: status.isOpen, until: status.until,
            willRenew: payment?.isSubscription == true ? status.willRenew : nil,
            product: status.product,
            isFamilyShared: payment.flatMap {
                $0.ownership == .assigned ? nil : $0.ownership == .familyShared
            },
            transaction: payment?.transaction, basis: status.grant == nil ? .payment : .grant,
            billing: Billing(status.state))
    }
}

extension RehearsalOpinion.Billing {
    fileprivate init(_ state: Access.State) {
        self =
            switch state {
            case .grace: .grace
            case .retry: .retry
            case .unconfirmed: .unconfirmed
            case .paid, .trial, .offer, .granted, .owned, .expired, .refunded, .revoked: .settled
            }
    }
}
