import Ledger
import Storage

/// What a customer may use at a moment, and why.
package struct CustomerState: Hashable, Sendable {
    /// The id that was requested.
    package var id: CustomerID
    /// All other ids of the same customer, oldest first.
    package var aliases: [CustomerID]
    /// The ids that the server made as account tokens.
    package var accountTokens: Set<CustomerID> = []
    /// The id to set as account token (Apple: `appAccountToken`). Nil if the customer has no such
    /// id.
    package var accountToken: CustomerID?
    /// Whether the customer is known by anonymous ids only.
    package var isAnonymous = false
    package var environment: Environment
    package var asOf: Instant
    /// The entitlements that the customer has or had.
    package var entitlements: [EntitlementID: EntitlementStatus]
    package var purchases: [PurchaseState]
    /// The terms of all non-renewing purchases together.
    package var terms: [Term]
    /// The terms as they are shown to the customer: terms that extend each other are shown as one
    /// term.
    package var displayedTerms: [Term]
    /// Payments for non-renewing products whose length is not configured.
    package var termsWithoutLength: [Payment]
    /// Grants made by support, including grants that have ended.
    package var grants: [Grant]
    /// The balance of each currency that has ever had an entry.
    package var balances: [CurrencyID: Int64]
    /// The clock by which the days of terms are counted.
    package var clock = WallClock.utc

    /// The aliases that an app may see. Anonymous ids and ids that the server made are left out:
    /// anyone who knows such an id can act as its customer, and the id may belong to another
    /// device.
    package var aliasesForApps: [CustomerID] {
        aliases.filter { !($0.isAnonymous || accountTokens.contains($0)) }
    }
}

/// One purchase of a customer, and the access that it gives.
package struct PurchaseState: Hashable, Sendable {
    package var timeline: Timeline
    /// The access that the purchase gives. Nil if the purchase gives no access by time or
    /// ownership, such as a consumable.
    package var access: Access?
    /// Whether the owner who shares the purchase is a person or an anonymous customer. Nil if the
    /// purchase is the customer's own.
    package var sharedBy: CustomerKind?
    /// How many people the purchase is paid for. Nil if the purchase was not bought in seats, or if
    /// it is not the customer's own.
    package var seats: SeatCount?
    /// The remedy if the configuration does not list the product, so that the purchase gives
    /// nothing. Nil if the product is listed, if the purchase has ended, or if it is a seat.
    package var unlisted: MissingListing?

    /// Whether the purchase belongs to the customer, and is neither shared nor a seat.
    package var isOwn: Bool { sharedBy == nil && timeline.seat == nil }
}

/// The kind of a customer: a person whom the app has named, or a device.
package enum CustomerKind: String, Hashable, Sendable {
    case person
    /// A device whose user has not signed in.
    case anonymous

    init(isAnonymous: Bool) { self = isAnonymous ? .anonymous : .person }
}

/// Reads, finds, changes and erases customers: state, ids, history and explanation.
package struct CustomerService: Sendable {
    let context: Context
    let verification: VerificationService
    let events: EventService
    let reconciliation: ReconciliationService
    /// The list of erasures outside of the database. Nil if there is none.
    let erasureList: ErasureList?
    let shownRuleChecks = RuleChecks()

    /// What a customer may use now. An unknown id counts as a customer without purchases, and is
    /// not stored.
    package func find(
        _ id: CustomerID, app appID: AppID, environment: Environment
    ) async throws(EngineFailure) -> CustomerState {
        let (app, _) = try context.app(appID)
        try id.requireValid()
        let now = context.now()
        let state = try await context.read { tx in
            try CustomerReader(tx).state(of: id, in: app, environment: environment, at: now)
        }
        context.counters.customersRead.add()
        // Unconfirmed purchases are checked soon.
        reconciliation.requestUrgentChecks(for: state, in: appID)
        return state
    }

    /// Whether an id identifies a customer about whom anything is stored.
    package func isKnown(_ id: CustomerID, app appID: AppID) async throws(EngineFailure) -> Bool {
        try await context.read { tx in try tx.customers.find(known: id, in: appID) != nil }
    }

    /// Makes another id an alias of the customer. If both ids are customers, they are merged.
    /// Idempotent.
    ///
    /// A request of an app can add only ids that ``AliasClaim`` allows. There are two reasons: a
    /// merge cannot be undone, and an app could add an id in advance that another person will use
    /// later.
    ///
    /// - Parameter proofs: the identity proofs of an app's request, one for each customer who needs
    ///   a proof; nil for a server's request.
    /// - Parameter unlessSignedIn: whether the request is refused with `aliasJoinsTwoPeople` if the
    ///   other id belongs to a person.
    /// - Parameter unlessErased: whether the request is refused with `aliasJoinsTwoPeople` if the
    ///   other id was erased, or if the given id was erased and is not a customer again.
    /// - Returns: the state of the customer, under the given id, or under another id of the
    ///   customer if the given id was not kept.
    package func alias(
        _ other: CustomerID, to id: CustomerID, app appID: AppID, environment: Environment,
        proofs: [String]? = nil, unlessSignedIn: Bool = false, unlessErased: Bool = false
    ) async throws(EngineFailure) -> CustomerState {
        let (app, _) = try context.app(appID)
        try id.requireValid()
        try other.requireValid()
        let now = context.now()
        let isByApp = proofs != nil
        let wait = isByApp ? context.growth.wait(of: app, at: now) : nil
        let (state, added) = try await context.decide { tx -> Decision<(CustomerState, Int)> in
            // The proofs are checked inside the transaction, because an anonymous id needs a proof
            // once it was added to a person.
            if let proofs,
                let failure = try IdentityDecisions(tx).defect(
                    in: proofs, ofBoth: [id, other], in: app, at: now)
            {
                return .refused(failure)
            }
            if unlessSignedIn,
                try tx.customers.find(known: other, in: appID)?.isAnonymous == false
            {
                return .refused(.aliasJoinsTwoPeople(other))
            }
            if unlessErased,
                try tx.erasedIDs.contains(other.hash, in: appID)
                    || tx.erasedIDs.contains(id.hash, in: appID)
                        && tx.customers.find(known: id, in: appID) == nil
            {
                return .refused(.aliasJoinsTwoPeople(other))
            }
            if isByApp,
                let why = try IdentityDecisions(tx).aliasClaim(other, to: id, in: app)?.refusal
            {
                switch why {
                case .twoPeople: return .refused(.aliasJoinsTwoPeople(other))
                case .notProven: return .refused(.aliasNotProven(other))
                }
            }
            let new = try IdentityDecisions(tx).countUnknown([id, other], in: appID)
            if let wait, new > 0, try !IdentityDecisions(tx).hasPurchases([id, other], in: appID) {
                return .refused(.growthBudgetExhausted(wait: wait))
            }
            let id = try IdentityDecisions(tx).join(
                other, with: id, isByApp: isByApp, in: app, at: now)
            let state = try CustomerReader(tx).state(
                of: id, in: app, environment: environment, at: now)
            return .done((state, new))
        }
        if isByApp { context.growth.add(added, of: app, at: now) }
        return state
    }

    /// Removes an alias from a customer, after which the alias is unknown. Everything that the
    /// customer has stays with the customer. The customer's primary id cannot be removed.
    package func removeAlias(
        _ alias: CustomerID, from id: CustomerID, app appID: AppID, environment: Environment
    ) async throws(EngineFailure) -> CustomerState {
        let (app, _) = try context.app(appID)
        let now = context.now()
        return try await context.decide { tx in
            guard alias != id, let known = try tx.customers.find(known: id, in: appID),
                known.ids.contains(alias)
            else { return .refused(.unknownAlias(alias)) }
            guard alias != known.customer else { return .refused(.primaryID(alias)) }
            try IdentityUpdates(tx).removeID(alias, from: known.customer, in: appID, at: now)
            return .done(
                try CustomerReader(tx).state(of: id, in: app, environment: environment, at: now))
        }
    }
}

extension CustomerID {
    /// The maximum length of an id, in bytes.
    package static let bytesMax = 255

    /// Values that programs send when they have no id. As ids they would merge all users into one
    /// customer.
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

    /// Whether the id is printable text, without leading, trailing or doubled spaces.
    private var isWellFormed: Bool {
        // Nearly all ids are plain ASCII. For ASCII ids, the Unicode properties need not be
        // examined.
        if rawValue.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) { return !rawValue.isEmpty }
        let words = rawValue.split(whereSeparator: \.isWhitespace).joined(separator: " ")
        let isPrintable = rawValue.unicodeScalars.allSatisfy {
            $0.properties.generalCategory != .control
        }
        return !words.isEmpty && words == rawValue && isPrintable
    }
}

extension AppSettings {
    func purchaseState(
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
