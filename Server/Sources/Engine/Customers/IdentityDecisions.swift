import AppStoreFormats
import Crypto
import Foundation
import Ledger
import Storage
import Synchronization

/// Decides which ids belong to one customer, and which ids are new.
struct IdentityDecisions {
    let tx: DatabaseSession

    init(_ tx: DatabaseSession) { self.tx = tx }

    /// The claim that an app makes when it requests to merge two ids. If the app requires proofs,
    /// the caller must have checked them. Returns nil if both ids belong to the same customer
    /// already.
    func aliasClaim(
        _ other: CustomerID, to id: CustomerID, in app: AppSettings
    ) throws -> AliasClaim? {
        let (first, second) = (
            try tx.customers.find(known: id, in: app.id),
            try tx.customers.find(known: other, in: app.id)
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

    /// Merges two ids into one customer. A customer may already have the maximum number of ids that
    /// an app may add. If an app then adds an anonymous id, the customer gets everything of the
    /// anonymous customer, but the anonymous id becomes unknown. Without this rule, others could
    /// fill a customer's ids, and a person who then logs in could not get the purchases of the
    /// anonymous customer.
    ///
    /// - Returns: an id of the customer: the given id, if it was kept.
    /// - Throws: `tooManyIDs` if the customer would otherwise have too many ids.
    func join(
        _ other: CustomerID, with id: CustomerID, isByApp: Bool, in app: AppSettings,
        at now: Instant
    ) throws -> CustomerID {
        let (first, second) = (
            try tx.customers.find(known: id, in: app.id),
            try tx.customers.find(known: other, in: app.id)
        )
        if let first, first.customer == second?.customer { return id }
        let count = (first?.ids.count ?? 1) + (second?.ids.count ?? 1)
        let most = isByApp ? app.idsByAppMax : CustomerService.idsMax
        guard count > most else {
            // The first id cannot be removed, so an app's request must not make an anonymous id a
            // person's first id.
            let isReversed =
                isByApp && first?.isAnonymous ?? id.isAnonymous
                && !(second?.isAnonymous ?? other.isAnonymous)
            let (added, kept) = isReversed ? (id, other) : (other, id)
            try merge(
                added, with: kept, keepsAttributes: app.keepsAttributes(isByApp: isByApp),
                in: app.id, at: now)
            return id
        }
        guard isByApp else { throw EngineFailure.tooManyIDs(limit: most) }
        if let first, second?.isAnonymous ?? other.isAnonymous {
            try absorb(second, into: first, in: app, at: now)
            return id
        }
        guard let second, first?.isAnonymous ?? id.isAnonymous else {
            throw EngineFailure.tooManyIDs(limit: most)
        }
        try absorb(first, into: second, in: app, at: now)
        return other
    }

    private func merge(
        _ other: CustomerID, with id: CustomerID, keepsAttributes: Bool, in app: AppID,
        at now: Instant
    ) throws {
        let customer = try IdentityUpdates(tx).customer(id, in: app, at: now)
        if let second = try tx.customers.find(known: other, in: app) {
            guard second.customer != customer.customer else { return }
            try IdentityUpdates(tx).merge(
                second.customer, into: customer.customer, keepsAttributes: keepsAttributes,
                in: app, at: now)
        } else {
            try IdentityUpdates(tx).addID(other, to: customer.customer, in: app, at: now)
        }
    }

    /// Gives a customer everything that an anonymous customer has, without the anonymous ids. If a
    /// purchase has an account token, this token always becomes an id of the customer. A token that
    /// no purchase has yet becomes an id only if the customer has few enough ids. Otherwise the
    /// token becomes unknown, so that no other customer can claim a later purchase with it.
    private func absorb(
        _ anonymous: StoredCustomer?, into person: StoredCustomer, in settings: AppSettings,
        at now: Instant
    ) throws {
        // The anonymous id is not stored, so there is nothing to merge.
        guard let anonymous else { return }
        let app = settings.id
        try IdentityUpdates(tx).merge(
            anonymous.customer, into: person.customer,
            keepsAttributes: settings.keepsAttributes(isByApp: true), in: app, at: now)
        let tokens = anonymous.ids.filter { !$0.isAnonymous }
        let carried = try tokens.filter { try tx.accountTokens.isCarried($0, in: app) }
        let room = max(0, CustomerService.idsWithUnusedTokensMax - person.ids.count - carried.count)
        let dropped = tokens.filter { !carried.contains($0) }.dropFirst(room)
        for id in anonymous.ids.filter(\.isAnonymous) + dropped {
            try IdentityUpdates(tx).removeID(id, from: person.customer, in: app, at: now)
        }
        if !dropped.isEmpty { try tx.erasedIDs.record(dropped.map(\.hash), in: app, at: now) }
    }

    func requireIDLimit(for count: Int, beside customer: StoredCustomer) throws {
        guard customer.ids.count + count <= CustomerService.idsMax else {
            throw EngineFailure.tooManyIDs(limit: CustomerService.idsMax)
        }
    }

    /// How many of these ids are not known yet.
    func countUnknown(_ ids: [CustomerID], in app: AppID) throws(StorageFailure) -> Int {
        var count = 0
        for id in ids where try tx.customers.find(known: id, in: app) == nil { count += 1 }
        return count
    }

    /// Whether one of these ids belongs to a customer who has purchases.
    func hasPurchases(_ ids: [CustomerID], in app: AppID) throws(StorageFailure) -> Bool {
        for id in ids {
            guard let known = try tx.customers.find(known: id, in: app) else { continue }
            if try tx.links.count(of: known.customer, in: app) > 0 { return true }
            for environment in Environment.allCases
            where try !tx.shares.timelines(with: known.customer, in: app, environment: environment)
                .isEmpty
            {
                return true
            }
        }
        return false
    }

    /// The ids whose proof is accepted as a proof for an id. Returns an empty array if the id needs
    /// no proof.
    func provers(
        of id: CustomerID, in app: AppID
    ) throws(StorageFailure) -> [CustomerID] {
        guard id.isAnonymous else { return [id] }
        return try tx.customers.find(known: id, in: app)?.personalIDs ?? []
    }

    /// Why the proofs of a request do not allow two ids to be merged. Returns nil if the proofs
    /// allow it, or if the app requires none.
    func defect(
        in proofs: [String], ofBoth ids: [CustomerID], in app: AppSettings, at now: Instant
    ) throws -> EngineFailure? {
        guard let wanted = app.proof else { return nil }
        let wanting = try ids.map { try provers(of: $0, in: app.id) }.filter { !$0.isEmpty }
        let lacks = wanting.compactMap { wanted.defect(in: proofs, ofAnyOf: $0, at: now) }
        guard let lack = lacks.first else { return nil }
        return .identityNotProven(lacks.count < wanting.count && lack == .wrong ? .ofOneOnly : lack)
    }
}
