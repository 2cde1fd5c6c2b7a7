import Ledger
import Storage

extension Engine {
    /// The maximum number of ids of one customer.
    package static let idsMax = 100
    /// The maximum number of ids of one customer that an app may fill without proofs of identity.
    /// The rest is for the app's server, and for the id that is set as account token.
    package static let idsByAppMax = 50
    /// The maximum number of ids that a customer has after taking over the account tokens of an
    /// anonymous customer which no purchase carries yet. The rest is for the app's server.
    fileprivate static let idsWithUnusedTokensMax = 75
}

extension AppSettings {
    /// The maximum number of ids that a request with an app key may give a customer.
    fileprivate var idsByAppMax: Int {
        proof != nil || joinsPeople ? Engine.idsMax : Engine.idsByAppMax
    }
}

extension DatabaseSession {
    /// What an app's request to make two ids one customer is about. Its proofs have been checked
    /// already, if the app requires any. Returns nil if the ids are one customer's already.
    func aliasClaim(
        _ other: CustomerID, to id: CustomerID, in app: AppSettings
    ) throws -> AliasClaim? {
        let (first, second) = (
            try customer(known: id, in: app.id), try customer(known: other, in: app.id)
        )
        if let first, first.customer == second?.customer { return nil }
        return AliasClaim(
            Self.side(id, of: first), Self.side(other, of: second), isProven: app.proof != nil,
            mayJoinPeople: app.joinsPeople)
    }

    private static func side(_ id: CustomerID, of known: StoredCustomer?) -> AliasClaim.Side {
        guard let known else { return id.isAnonymous ? .anonymous : .unknown }
        if known.accountTokens.contains(where: { $0.accountToken == id.accountToken }),
            id.accountToken != nil
        {
            return .accountToken
        }
        return id.isAnonymous && known.isAnonymous ? .anonymous : .person
    }

    /// Makes two ids one customer. If an app adds an anonymous id to a customer who has as many ids
    /// as an app may fill, everything that the anonymous customer has goes to the customer, but the
    /// id then identifies nobody: otherwise others could fill a customer's ids, so that a person
    /// who has logged in could not get what they bought before.
    ///
    /// - Returns: an id of the customer: the given one, if it was kept.
    /// - Throws: `tooManyIDs` if the customer would have too many ids otherwise.
    func join(
        _ other: CustomerID, with id: CustomerID, isByApp: Bool, in app: AppSettings,
        at now: Instant
    ) throws -> CustomerID {
        let (first, second) = (
            try customer(known: id, in: app.id), try customer(known: other, in: app.id)
        )
        if let first, first.customer == second?.customer { return id }
        let count = (first?.ids.count ?? 1) + (second?.ids.count ?? 1)
        let most = isByApp ? app.idsByAppMax : Engine.idsMax
        guard count > most else {
            // The first id cannot be removed, so that an app's request must not make an anonymous
            // id the first one of a person.
            let isReversed =
                isByApp && first?.isAnonymous ?? id.isAnonymous
                && !(second?.isAnonymous ?? other.isAnonymous)
            let (added, kept) = isReversed ? (id, other) : (other, id)
            try merge(added, with: kept, in: app.id, at: now)
            return id
        }
        guard isByApp else { throw EngineFailure.tooManyIDs(limit: most) }
        if let first, second?.isAnonymous ?? other.isAnonymous {
            try absorb(second, into: first, in: app.id, at: now)
            return id
        }
        guard let second, first?.isAnonymous ?? id.isAnonymous else {
            throw EngineFailure.tooManyIDs(limit: most)
        }
        try absorb(first, into: second, in: app.id, at: now)
        return other
    }

    private func merge(
        _ other: CustomerID, with id: CustomerID, in app: AppID, at now: Instant
    ) throws {
        let customer = try customer(id, in: app, at: now)
        if let second = try self.customer(known: other, in: app) {
            guard second.customer != customer.customer else { return }
            try merge(second.customer, into: customer.customer, in: app, at: now)
        } else {
            try addID(other, to: customer.customer, in: app, at: now)
        }
    }

    /// Gives a customer everything that an anonymous customer has, without the anonymous ids. The
    /// account tokens that purchases carry are kept, however many there are. One that no purchase
    /// carries yet is kept if there is room; otherwise it names nobody from now on, so that nobody
    /// else can claim a later purchase by it.
    private func absorb(
        _ anonymous: StoredCustomer?, into person: StoredCustomer, in app: AppID, at now: Instant
    ) throws {
        // An id that nobody has used yet has nothing.
        guard let anonymous else { return }
        try merge(anonymous.customer, into: person.customer, in: app, at: now)
        let tokens = anonymous.ids.filter { !$0.isAnonymous }
        let carried = try tokens.filter { try isCarried($0, in: app) }
        let room = max(0, Engine.idsWithUnusedTokensMax - person.ids.count - carried.count)
        let dropped = tokens.filter { !carried.contains($0) }.dropFirst(room)
        for id in anonymous.ids.filter(\.isAnonymous) + dropped {
            try removeID(id, from: person.customer, in: app, at: now)
        }
        if !dropped.isEmpty { try recordErasures(dropped.map(\.hash), in: app, at: now) }
    }

    func requireIDLimit(for count: Int, beside customer: StoredCustomer) throws {
        guard customer.ids.count + count <= Engine.idsMax else {
            throw EngineFailure.tooManyIDs(limit: Engine.idsMax)
        }
    }
}
