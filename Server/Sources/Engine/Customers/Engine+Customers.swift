import Ledger
import Storage

/// What a customer may use at a moment, and why.
package struct CustomerState: Hashable, Sendable {
    /// The id that was requested.
    package var id: CustomerID
    /// All other ids of the same customer, oldest first.
    package var aliases: [CustomerID]
    /// Those ids that the server made, to be set as account tokens.
    package var accountTokens: Set<CustomerID> = []
    /// The id to set as account token (Apple: `appAccountToken`). Nil if they have none.
    package var accountToken: CustomerID?
    /// Whether the customer is known by anonymous ids only.
    package var isAnonymous = false
    package var environment: Environment
    package var asOf: Instant
    /// Only entitlements that the customer has or had.
    package var entitlements: [EntitlementID: EntitlementStatus]
    package var purchases: [PurchaseState]
    /// The terms of all non-renewing purchases together.
    package var terms: [Term]
    /// The terms as they are shown to the customer.
    package var displayedTerms: [Term]
    /// Payments for non-renewing products whose length is not configured.
    package var termsWithoutLength: [Payment]
    /// Grants made by support, including those that have ended.
    package var grants: [Grant]
    /// The balance of each currency that has ever had an entry.
    package var balances: [CurrencyID: Int64]
    /// The clock by which the days of terms are counted.
    package var clock = WallClock.utc

    /// The aliases that an app may see: not the anonymous ids, nor those that the server made. Such
    /// an id is enough to act as its customer, and may be another device's.
    package var aliasesForApps: [CustomerID] {
        aliases.filter { !($0.isAnonymous || accountTokens.contains($0)) }
    }
}

/// One purchase of a customer, and the access it gives.
package struct PurchaseState: Hashable, Sendable {
    package var timeline: Timeline
    /// Nil if it gives no access by time or ownership, as a consumable.
    package var access: Access?
    /// What the owner is, if that is another customer, who shares it. Nil if it is the customer's
    /// own.
    package var sharedBy: CustomerKind?
    /// How many people it is paid for. Nil if it is no purchase of seats, or not the customer's
    /// own.
    package var seats: SeatCount?
    /// Its product, if the configuration does not list it, so that the purchase gives nothing.
    package var unlisted: MissingListing?

    /// Whether it belongs to the customer, who neither shares it nor has a seat of it.
    package var isOwn: Bool { sharedBy == nil && timeline.seat == nil }
}

/// Whether the app has said who a customer is.
package enum CustomerKind: String, Hashable, Sendable {
    case person
    /// A device whose user has not signed in.
    case anonymous

    init(isAnonymous: Bool) { self = isAnonymous ? .anonymous : .person }
}

extension Engine {
    /// What a customer may use now. An unknown id is a customer without purchases; nothing is
    /// written.
    package func customer(
        _ id: CustomerID, app appID: AppID, environment: Environment
    ) async throws(EngineFailure) -> CustomerState {
        let (app, _) = try app(appID)
        try id.requireValid()
        let now = now()
        let state = try await read { tx in
            try tx.state(of: id, in: app, environment: environment, at: now)
        }
        counters.customersRead.add()
        // Unconfirmed purchases are checked soon.
        requestUrgentChecks(for: state, in: appID)
        return state
    }

    /// Makes another id an alias of the customer. If both ids are customers, they are merged.
    /// Idempotent.
    ///
    /// An app's request can add only what ``AliasClaim`` allows: a merge cannot be undone, and an
    /// id that is added in advance would belong to whoever comes later under that id.
    ///
    /// - Parameter proofs: the identity proofs of an app's request, which needs one of each
    ///   customer that requires one; nil for a server's request.
    /// - Returns: the customer, under the id in the path unless that id was not kept.
    package func alias(
        _ other: CustomerID, to id: CustomerID, app appID: AppID, environment: Environment,
        proofs: [String]? = nil
    ) async throws(EngineFailure) -> CustomerState {
        let (app, _) = try app(appID)
        try id.requireValid()
        try other.requireValid()
        let now = now()
        let isByApp = proofs != nil
        let wait = isByApp ? growth.wait(of: app, at: now) : nil
        let (state, added) = try await decide { tx -> Decision<(CustomerState, Int)> in
            // Checked inside the transaction: what an anonymous id needs changes with its owner.
            if let proofs,
                let failure = try tx.defect(in: proofs, ofBoth: [id, other], in: app, at: now)
            {
                return .refused(failure)
            }
            if isByApp, let why = try tx.aliasClaim(other, to: id, in: app)?.refusal {
                switch why {
                case .twoPeople: return .refused(.aliasJoinsTwoPeople(other))
                case .notProven: return .refused(.aliasNotProven(other))
                }
            }
            let new = try tx.countUnknown([id, other], in: appID)
            if let wait, new > 0, try !tx.hasPurchases([id, other], in: appID) {
                return .refused(.growthBudgetExhausted(wait: wait))
            }
            let id = try tx.join(other, with: id, isByApp: isByApp, in: app, at: now)
            let state = try tx.state(of: id, in: app, environment: environment, at: now)
            return .done((state, new))
        }
        if isByApp { growth.add(added, of: app, at: now) }
        return state
    }

    /// Removes an alias from a customer; it then identifies nobody. Everything the customer has
    /// stays with them. The customer's primary id cannot be removed.
    package func removeAlias(
        _ alias: CustomerID, from id: CustomerID, app appID: AppID, environment: Environment
    ) async throws(EngineFailure) -> CustomerState {
        let (app, _) = try app(appID)
        let now = now()
        return try await decide { tx in
            guard alias != id, let known = try tx.customer(known: id, in: appID),
                known.ids.contains(alias)
            else { return .refused(.unknownAlias(alias)) }
            guard alias != known.customer else { return .refused(.primaryID(alias)) }
            try tx.removeID(alias, from: known.customer, in: appID, at: now)
            return .done(try tx.state(of: id, in: app, environment: environment, at: now))
        }
    }
}

extension CustomerID {
    /// The maximum length of an id, in bytes.
    package static let bytesMax = 255

    /// What programs send when they have no id: it would merge all their users into one customer.
    private static let placeholderWords: Set<String> = [
        "null", "(null)", "nil", "none", "undefined", "nan", "n/a", "0", "-1", "false", "true",
        "guest", "anonymous", "anon", "unknown", "user", "customer", "default", "test",
        "unidentified", "not set", "no_user", "[object object]",
    ]
    private static let placeholderBytesMax = placeholderWords.map(\.utf8.count).max() ?? 0
    private static let nilUUID = "00000000-0000-0000-0000-000000000000"

    func requireValid() throws(EngineFailure) {
        guard isWellFormed, rawValue.utf8.count <= Self.bytesMax, !isPlaceholder else {
            throw .invalidCustomerID(rawValue)
        }
    }

    package var isPlaceholder: Bool {
        guard rawValue.utf8.count <= Self.placeholderBytesMax else {
            return rawValue == Self.nilUUID
        }
        return Self.placeholderWords.contains(rawValue.lowercased())
    }

    /// Printable text, without leading, trailing or doubled spaces.
    private var isWellFormed: Bool {
        // Nearly all ids are plain ASCII, and then the Unicode properties need not be examined.
        if rawValue.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) { return !rawValue.isEmpty }
        let words = rawValue.split(whereSeparator: \.isWhitespace).joined(separator: " ")
        let isPrintable = rawValue.unicodeScalars.allSatisfy {
            $0.properties.generalCategory != .control
        }
        return !words.isEmpty && words == rawValue && isPrintable
    }
}

extension DatabaseSession {
    func state(
        of id: CustomerID, in app: AppSettings, environment: Environment, at now: Instant
    ) throws -> CustomerState {
        let known = try customer(known: id, in: app.id)
        let ids = known?.ids ?? [id]
        let own = try ownTimelines(of: known, ids, in: app.id, environment: environment)
        let shared = try sharedTimelines(with: known, in: app, environment: environment)
        let seats = try seatTimelines(of: known, in: app.id, environment: environment, at: now)
        let timelines = own + shared.map(\.timeline) + seats
        let grants = try grants(of: known, in: app.id, environment: environment)
        let terms = app.terms.terms(of: timelines)
        var ownStates = own.map { app.purchaseState($0, at: now) }
        for index in ownStates.indices {
            ownStates[index].seats = try seatCount(of: own[index], in: app, at: now)
        }
        let balances = try balances(
            of: known?.customer, own.flatMap { $0.periods.map(\.payment) }, in: app,
            environment: environment)
        return CustomerState(
            id: id, aliases: ids.filter { $0 != id },
            accountTokens: known?.accountTokens ?? [],
            accountToken: tokensIdentifyCustomers(in: app.id)
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

    /// All purchases of a customer, including those shared with them.
    func timelines(
        of known: StoredCustomer?, _ ids: [CustomerID], in app: AppSettings,
        environment: Environment
    ) throws -> [Timeline] {
        try ownTimelines(of: known, ids, in: app.id, environment: environment)
            + sharedTimelines(with: known, in: app, environment: environment).map(\.timeline)
    }

    /// All purchases of the customer that an id identifies. If the id is unknown, the purchases
    /// that carry it as an account token.
    func timelines(
        answeringFor id: CustomerID, in app: AppSettings, environment: Environment
    ) throws -> [Timeline] {
        let known = try customer(known: id, in: app.id)
        return try timelines(of: known, known?.ids ?? [id], in: app, environment: environment)
    }

    /// The purchases that belong to a customer alone and credit wallets.
    func ownTimelines(
        of known: StoredCustomer?, _ ids: [CustomerID], in app: AppID, environment: Environment
    ) throws -> [Timeline] {
        var timelines: [Timeline] = []
        if let customer = known?.customer {
            timelines = try self.timelines(of: customer, in: app, environment: environment)
        }
        return timelines + (try timelinesByToken(ids, in: app, environment: environment))
    }

    /// Shared purchases count while the restore policy is to share, for as many customers as it
    /// allows. Those of an anonymous owner always count.
    private func sharedTimelines(
        with known: StoredCustomer?, in app: AppSettings, environment: Environment
    ) throws -> [(timeline: Timeline, owner: CustomerKind)] {
        let isPolicy = app.restorePolicy(in: environment) == .share
        guard let known else { return [] }
        let shared = try sharedTimelines(
            with: known.customer, in: app.id, environment: environment)
        return try shared.compactMap { timeline in
            let owner = try link(of: timeline.purchase, in: app.id)?.customer
            let isAnonymous = try owner.map { try self.isAnonymous($0, in: app.id) } ?? false
            guard
                try isAnonymous
                    || isPolicy
                        && isShareCounted(of: timeline.purchase, with: known.customer, in: app)
            else { return nil }
            return (timeline, CustomerKind(isAnonymous: isAnonymous))
        }
    }

    private func grants(
        of known: StoredCustomer?, in app: AppID, environment: Environment
    ) throws -> [Grant] {
        guard let known, known.hasGrants else { return [] }
        return try grants(of: known.customer, in: app, environment: environment)
    }
}

extension AppSettings {
    fileprivate func purchaseState(
        _ timeline: Timeline, sharedBy owner: CustomerKind? = nil, at now: Instant
    ) -> PurchaseState {
        PurchaseState(
            timeline: timeline, access: timeline.access(at: now, rules: rules), sharedBy: owner,
            unlisted: timeline.seat == nil
                ? unlistedProduct(of: timeline, at: now).map(unlisted) : nil)
    }

    /// The status of each entitlement that the customer has or had.
    func rights(
        _ timelines: [Timeline], _ terms: [Term], _ grants: [Grant], at now: Instant
    ) -> [EntitlementID: EntitlementStatus] {
        var rights: [EntitlementID: EntitlementStatus] = [:]
        for (entitlement, products) in entitlements {
            let app = timelines.compactMap {
                paidApp?.access(to: entitlement, through: $0, of: ProductID(rawValue: bundleID))
            }
            let access = Entitlement.access(
                through: products, of: timelines, terms, besides: app, at: now, rules: rules)
            let granted = grants.filter { $0.entitlement == entitlement }
            rights[entitlement] = EntitlementStatus.strongest(access, granted, at: now)
        }
        return rights
    }
}
