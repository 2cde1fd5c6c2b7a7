import Crypto
import Ledger
import Storage

/// What a customer has: purchases, access, publications and history.
struct CustomerReader {
    let tx: DatabaseSession

    init(_ tx: DatabaseSession) { self.tx = tx }

    func state(
        of id: CustomerID, in app: AppSettings, environment: Environment, at now: Instant
    ) throws -> CustomerState {
        let known = try tx.customers.find(known: id, in: app.id)
        let ids = known?.ids ?? [id]
        let own = try ownTimelines(of: known, ids, in: app.id, environment: environment)
        let shared = try sharedTimelines(with: known, in: app, environment: environment)
        let seats = try SeatDecisions(tx).seatTimelines(
            of: known, in: app.id, environment: environment, at: now)
        let timelines = own + shared.map(\.timeline) + seats
        let grants = try grants(of: known, in: app.id, environment: environment)
        let terms = app.terms.terms(of: timelines)
        var ownStates = own.map { app.purchaseState($0, at: now) }
        for index in ownStates.indices {
            ownStates[index].seats = try SeatDecisions(tx).seatCount(
                of: own[index], in: app, at: now)
        }
        let balances = try WalletDecisions(tx).balances(
            of: known?.customer, own.flatMap { $0.periods.map(\.payment) }, in: app,
            environment: environment)
        return CustomerState(
            id: id, aliases: ids.filter { $0 != id },
            accountTokens: known?.accountTokens ?? [],
            accountToken: tx.accountTokens.identifyCustomers(in: app.id)
                ? (known?.accountToken ?? id.asAccountToken) : nil,
            isAnonymous: known?.isAnonymous ?? id.isAnonymous, environment: environment, asOf: now,
            entitlements: app.rights(timelines, terms, grants, at: now),
            purchases: ownStates
                + shared.map { app.purchaseState($0.timeline, sharedBy: $0.owner, at: now) }
                + seats.map { app.purchaseState($0, at: now) },
            terms: terms, displayedTerms: app.terms.displayed(terms),
            termsWithoutLength: app.terms.paymentsWithoutLength(of: timelines), grants: grants,
            balances: balances, clock: app.terms.clock)
    }

    /// All purchases of a customer, including purchases that are shared with the customer.
    func timelines(
        of known: StoredCustomer?, _ ids: [CustomerID], in app: AppSettings,
        environment: Environment
    ) throws -> [Timeline] {
        try ownTimelines(of: known, ids, in: app.id, environment: environment)
            + sharedTimelines(with: known, in: app, environment: environment).map(\.timeline)
    }

    /// All purchases of the customer that an id identifies. If the id is unknown, returns the
    /// purchases that have it as their account token.
    func timelines(
        answeringFor id: CustomerID, in app: AppSettings, environment: Environment
    ) throws -> [Timeline] {
        let known = try tx.customers.find(known: id, in: app.id)
        return try timelines(of: known, known?.ids ?? [id], in: app, environment: environment)
    }

    /// The customer's own purchases, without purchases that others share with the customer. Only
    /// the own purchases credit the customer's wallets.
    func ownTimelines(
        of known: StoredCustomer?, _ ids: [CustomerID], in app: AppID, environment: Environment
    ) throws -> [Timeline] {
        var timelines: [Timeline] = []
        if let customer = known?.customer {
            timelines = try tx.links.timelines(of: customer, in: app, environment: environment)
        }
        return timelines + (try tx.accountTokens.timelines(ids, in: app, environment: environment))
    }

    /// The purchases that others share with a customer. A share of a person's purchase counts only
    /// while the restore policy is `share`, and only up to the number of shares that the policy
    /// allows. A share of an anonymous customer's purchase always counts.
    private func sharedTimelines(
        with known: StoredCustomer?, in app: AppSettings, environment: Environment
    ) throws -> [(timeline: Timeline, owner: CustomerKind)] {
        let isPolicy = app.restorePolicy(in: environment) == .share
        guard let known else { return [] }
        let shared = try tx.shares.timelines(
            with: known.customer, in: app.id, environment: environment)
        return try shared.compactMap { timeline in
            let owner = try tx.links.find(of: timeline.purchase, in: app.id)?.customer
            let isAnonymous =
                try owner.map { try OwnershipDecisions(tx).isAnonymous($0, in: app.id) } ?? false
            guard
                try isAnonymous
                    || isPolicy
                        && OwnershipDecisions(tx).isShareCounted(
                            of: timeline.purchase, with: known.customer, in: app)
            else { return nil }
            return (timeline, CustomerKind(isAnonymous: isAnonymous))
        }
    }

    private func grants(
        of known: StoredCustomer?, in app: AppID, environment: Environment
    ) throws -> [Grant] {
        guard let known, known.hasGrants else { return [] }
        return try tx.grants.all(of: known.customer, in: app, environment: environment)
    }

    func shelf(of state: CustomerState, in app: AppSettings) -> [ShelfEntry] {
        let reader = reader(of: state, in: app)
        let items = Dictionary(
            app.content.items.map { ($0.publication.id, $0) },
            uniquingKeysWith: { first, _ in first })
        return reader.readings(of: app.content.items.map(\.publication)).compactMap { reading in
            items[reading.publication].map { ShelfEntry(item: $0, reading: reading) }
        }
    }

    func reader(of state: CustomerState, in app: AppSettings) -> PublicationReader {
        PublicationReader(
            of: state.purchases.map(\.timeline.sinceSeat), state.terms, state.grants,
            app.entitlements,
            at: state.asOf, access: app.rules, rules: app.content.rules)
    }

    func history(of state: CustomerState, in app: AppSettings) throws -> [HistoryLine] {
        var lines: [HistoryLine] = []
        for purchase in state.purchases {
            lines += try self.lines(about: purchase.timeline.purchase, in: app.id)
        }
        if let customer = try tx.customers.find(known: state.id, in: app.id)?.customer {
            lines += try tx.transfers.all(of: customer, in: app.id)
                .filter { $0.purchase.environment == state.environment }.map(HistoryLine.init)
            let grants = try tx.grants.all(
                of: customer, in: app.id, environment: state.environment)
            lines += grants.flatMap { HistoryLine.lines(of: $0, at: state.asOf) }
            for currency in app.wallets.allCurrencies.sorted() {
                lines += try tx.bookings.all(
                    of: customer, currency, in: app.id, environment: state.environment
                ).map(HistoryLine.init)
            }
        }
        let events = try EventReader(tx).lastEvents(
            concerning: state, in: app.id, limit: CustomerService.historyEventsMax)
        let epochs = try tx.events.epochs(of: app.id)
        lines += events.filter {
            $0.entry.environment.map { $0 == state.environment } ?? true
        }.map { HistoryLine($0, at: epochs.position(of: $0.sequence)) }
        return lines.enumerated().sorted {
            ($0.element.at, $0.offset) < ($1.element.at, $1.offset)
        }.map(\.element)
    }

    private func lines(
        about purchase: PurchaseID, in app: AppID
    ) throws -> [HistoryLine] {
        var lines = try tx.facts.all(about: purchase, in: app).map(HistoryLine.init)
        lines += try tx.inquiries.all(about: [purchase], in: app).map(HistoryLine.init)
        if let link = try tx.links.find(of: purchase, in: app) {
            let sentence = "Purchase \(purchase.original) is linked, \(link.evidence.sentence)."
            lines.append(
                HistoryLine(at: link.since, kind: .link, sentence: sentence, purchase: purchase))
            if let block = try tx.links.block(of: purchase, in: app) {
                let sentence = "Purchase \(purchase.original) is blocked"
                lines.append(
                    HistoryLine(
                        at: block.since, kind: .block, sentence: "\(sentence): \(block.reason)",
                        purchase: purchase, sentenceWithoutReason: "\(sentence)."))
            }
        }
        return lines
    }
}
