import Ledger
import Storage

/// What a customer may use at a moment, and why.
package struct CustomerState: Hashable, Sendable {
    /// The id that was asked for.
    package var id: CustomerID
    /// All other ids that mean the same customer, the eldest first.
    package var aliases: [CustomerID]
    package var environment: Environment
    package var asOf: Instant
    /// Only those that the customer has or had.
    package var entitlements: [EntitlementID: Right]
    package var purchases: [PurchaseState]
    /// What was bought for a time and does not renew, of all purchases together.
    package var terms: [Term]
    /// The same as the customer sees it.
    package var shownTerms: [Term]
    /// The same of products whose length the configuration does not say.
    package var termsWithoutLength: [Payment]
    /// What was given by hand, also what is over.
    package var grants: [Grant]
    /// Of each currency of which there was ever an entry.
    package var balances: [CurrencyID: Int64]
    /// By which the days of terms count.
    package var clock = WallClock.utc
}

/// One purchase of a customer, and what it gives.
package struct PurchaseState: Hashable, Sendable {
    package var timeline: Timeline
    /// Nil where it gives nothing by time or ownership, such as a consumable.
    package var access: Access?
}

extension Engine {
    /// Ids that may mean one customer.
    package static let idsMax = 100

    /// What a customer may use now. An id never heard of is a customer without purchases; nothing
    /// is written.
    package func customer(
        _ id: CustomerID, app appID: AppID, environment: Environment
    ) async throws(EngineFailure) -> CustomerState {
        let (app, _) = try app(appID)
        try id.requireMeaning()
        let now = now()
        let state = try await reading { tx in
            try tx.state(of: id, in: app, environment: environment, at: now)
        }
        counters.customersAnswered.add()
        // What is not confirmed is asked about soon.
        wish(for: state, in: appID)
        return state
    }

    /// Lets another id mean the same customer from now on. Where both were customers, they become
    /// one. Harmless to repeat.
    ///
    /// - Parameter proofs: those of an app's request, which needs one of each customer that wants
    ///   one; nil for a server's.
    package func alias(
        _ other: CustomerID, to id: CustomerID, app appID: AppID, environment: Environment,
        proofs: [String]? = nil
    ) async throws(EngineFailure) -> CustomerState {
        let (app, _) = try app(appID)
        try id.requireMeaning()
        try other.requireMeaning()
        let now = now()
        return try await deciding { tx in
            // Here and not before: what an anonymous id needs changes with whose it is.
            if let proofs,
                let failure = try tx.lack(in: proofs, ofBoth: [id, other], in: app, at: now)
            {
                return .failure(failure)
            }
            try tx.unite(other, with: id, in: appID, at: now)
            return .success(try tx.state(of: id, in: app, environment: environment, at: now))
        }
    }

    /// Parts an id from a customer: it means nobody from now on. All that is the customer's stays
    /// with them. The first of their ids cannot be parted: the others were added to it.
    package func part(
        _ alias: CustomerID, from id: CustomerID, app appID: AppID, environment: Environment
    ) async throws(EngineFailure) -> CustomerState {
        let (app, _) = try app(appID)
        let now = now()
        return try await deciding { tx in
            guard alias != id, let known = try tx.customer(known: id, in: appID),
                known.ids.contains(alias)
            else { return .failure(.unknownAlias(alias)) }
            guard alias != known.customer else { return .failure(.firstID(alias)) }
            try tx.part(alias, from: known.customer, in: appID, at: now)
            return .success(try tx.state(of: id, in: app, environment: environment, at: now))
        }
    }
}

extension CustomerID {
    /// Bytes of an id.
    package static let bytesMax = 255

    /// What programs write where they have no id: one customer for all of their users.
    private static let meaninglessWords: Set<String> = [
        "null", "(null)", "nil", "none", "undefined", "nan", "n/a", "0", "-1", "false", "true",
        "guest", "anonymous", "anon", "unknown", "user", "customer", "default", "test",
        "unidentified", "not set", "no_user", "[object object]",
    ]
    private static let meaninglessBytesMax = meaninglessWords.map(\.utf8.count).max() ?? 0
    private static let meaninglessUUID = "00000000-0000-0000-0000-000000000000"

    func requireMeaning() throws(EngineFailure) {
        guard isWellFormed, rawValue.utf8.count <= Self.bytesMax, !isMeaningless else {
            throw .meaninglessCustomerID(rawValue)
        }
    }

    private var isMeaningless: Bool {
        guard rawValue.utf8.count <= Self.meaninglessBytesMax else {
            return rawValue == Self.meaninglessUUID
        }
        return Self.meaninglessWords.contains(rawValue.lowercased())
    }

    /// Something printable, with no space before, after, or twice within.
    private var isWellFormed: Bool {
        // Nearly all ids are plain ASCII: then nothing needs to be asked of each character.
        if rawValue.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) { return !rawValue.isEmpty }
        let words = rawValue.split(whereSeparator: \.isWhitespace).joined(separator: " ")
        let isPrintable = rawValue.unicodeScalars.allSatisfy {
            $0.properties.generalCategory != .control
        }
        return !words.isEmpty && words == rawValue && isPrintable
    }
}

extension StoreTransaction {
    func state(
        of id: CustomerID, in app: AppSettings, environment: Environment, at now: Instant
    ) throws -> CustomerState {
        let known = try customer(known: id, in: app.id)
        let ids = known?.ids ?? [id]
        let own = try ownTimelines(of: known, ids, in: app.id, environment: environment)
        let timelines =
            try own + sharedTimelines(with: known, in: app, environment: environment)
        let grants = try grants(of: known, in: app.id, environment: environment)
        let terms = app.terms.terms(of: timelines)
        let balances = try balances(
            of: known?.customer, own.flatMap { $0.periods.map(\.payment) }, in: app,
            environment: environment)
        return CustomerState(
            id: id, aliases: ids.filter { $0 != id }, environment: environment, asOf: now,
            entitlements: app.rights(timelines, terms, grants, at: now),
            purchases: timelines.map {
                PurchaseState(timeline: $0, access: $0.access(at: now, rules: app.rules))
            },
            terms: terms, shownTerms: app.terms.shown(terms),
            termsWithoutLength: app.terms.paymentsWithoutLength(of: timelines), grants: grants,
            balances: balances, clock: app.terms.clock)
    }

    /// All purchases that answer for a customer.
    func timelines(
        of known: StoredCustomer?, _ ids: [CustomerID], in app: AppSettings,
        environment: Environment
    ) throws -> [Timeline] {
        try ownTimelines(of: known, ids, in: app.id, environment: environment)
            + sharedTimelines(with: known, in: app, environment: environment)
    }

    /// The same of whomever an id means; of an id that is not known, those that carry it.
    func timelines(
        answeringFor id: CustomerID, in app: AppSettings, environment: Environment
    ) throws -> [Timeline] {
        let known = try customer(known: id, in: app.id)
        return try timelines(of: known, known?.ids ?? [id], in: app, environment: environment)
    }

    /// Those that are a customer's alone, and credit wallets.
    func ownTimelines(
        of known: StoredCustomer?, _ ids: [CustomerID], in app: AppID, environment: Environment
    ) throws -> [Timeline] {
        var timelines: [Timeline] = []
        if let customer = known?.customer {
            timelines = try self.timelines(of: customer, in: app, environment: environment)
        }
        return timelines + (try namedTimelines(ids, in: app, environment: environment))
    }

    /// What is shared counts as long as the policy says so.
    private func sharedTimelines(
        with known: StoredCustomer?, in app: AppSettings, environment: Environment
    ) throws -> [Timeline] {
        guard let customer = known?.customer, app.restore(in: environment) == .share else {
            return []
        }
        return try sharedTimelines(with: customer, in: app.id, environment: environment)
    }

    private func grants(
        of known: StoredCustomer?, in app: AppID, environment: Environment
    ) throws -> [Grant] {
        guard let known, known.hasGrants else { return [] }
        return try grants(of: known.customer, in: app, environment: environment)
    }

    fileprivate func unite(
        _ other: CustomerID, with id: CustomerID, in app: AppID, at now: Instant
    ) throws {
        let customer = try customer(id, in: app, at: now)
        if let second = try self.customer(known: other, in: app) {
            guard second.customer != customer.customer else { return }
            try requireRoom(for: second.ids.count, beside: customer)
            try merge(second.customer, into: customer.customer, in: app, at: now)
        } else {
            try requireRoom(for: 1, beside: customer)
            try addID(other, to: customer.customer, in: app, at: now)
        }
    }

    private func requireRoom(for count: Int, beside customer: StoredCustomer) throws {
        guard customer.ids.count + count <= Engine.idsMax else {
            throw EngineFailure.tooManyIDs(limit: Engine.idsMax)
        }
    }
}

extension AppSettings {
    /// Only those that the customer has or had.
    func rights(
        _ timelines: [Timeline], _ terms: [Term], _ grants: [Grant], at now: Instant
    ) -> [EntitlementID: Right] {
        var rights: [EntitlementID: Right] = [:]
        for (entitlement, products) in entitlements {
            let access = Entitlement.access(
                through: products, of: timelines, terms, at: now, rules: rules)
            let granted = grants.filter { $0.entitlement == entitlement }
            rights[entitlement] = Right.answer(access, granted, at: now)
        }
        return rights
    }
}
