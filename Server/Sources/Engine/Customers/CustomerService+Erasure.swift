import Crypto
import Ledger
import Storage

/// The result of erasing a customer.
package struct ErasureResult: Hashable, Sendable {
    /// The number of purchases that lost their owner.
    package var purchases: Int
}

extension CustomerService {
    /// The maximum number of intents (``ErasureIntent``) for one erasure. Another intent is needed
    /// if the customer gets another id after the intent was listed.
    private static let intentsMax = 5

    /// Erases a customer: the ids and the personal data. The customer's purchases lose their owner,
    /// except for consumables, which stay used up under a meaningless pseudonym. Documents that
    /// Apple signed are preserved, including amounts of money. Idempotent.
    ///
    /// If there is a list of erasures, the erasure is listed before it begins.
    package func erase(
        _ id: CustomerID, app appID: AppID
    ) async throws(EngineFailure) -> ErasureResult {
        _ = try context.app(appID)
        try id.requireValid()
        guard let erasureList else {
            return try await erase(id, app: appID, listing: nil)?.result ?? .nothing
        }
        for _ in 0..<Self.intentsMax {
            let (ids, intent) = try await intent(toErase: id, app: appID)
            if let intent { try await append(.intent(intent), to: erasureList) }
            do {
                guard let done = try await erase(id, app: appID, listing: Set(ids)) else {
                    if let intent { await abandon(intent, in: erasureList) }
                    continue
                }
                if let intent, let position = done.position {
                    await appendEnd(of: intent, at: position, to: erasureList)
                }
                return done.result
            } catch {
                if let intent, await isStillThere(id, ids, app: appID) {
                    await abandon(intent, in: erasureList)
                }
                throw error
            }
        }
        throw .busy
    }

    /// Erases a customer in one transaction.
    ///
    /// - Parameter listed: the ids that the list of erasures contains; nil if there is no list.
    /// - Returns: nil if the customer has an id that is not listed: then nothing is changed.
    func erase(
        _ id: CustomerID, app appID: AppID, listing listed: Set<CustomerID>?
    ) async throws(EngineFailure) -> (result: ErasureResult, position: LogPosition?)? {
        let now = context.now()
        // The salt is generated before the transaction, because the transaction may run several
        // times.
        let salt = SymmetricKey(size: .bits128).withUnsafeBytes { Array($0) }
        return try await context.decide(isErasing: true) { tx in
            guard let person = try CustomerFinder(tx).customerToErase(id, in: appID) else {
                return try CustomerErasure(tx).eraseInvitations(
                    naming: id, in: appID, listing: listed)
            }
            let ids = try CustomerFinder(tx).ids(ofErased: person, in: appID)
            if let listed, !listed.isSuperset(of: ids) { return .unchanged(nil) }
            let names = ids.enumerated().map { index, id in (id, CustomerID.erased(salt, index)) }
            let position = try CustomerErasure(tx).position(
                in: appID, isListed: listed != nil)
            let unlinked = try CustomerErasure(tx).erase(
                person, names: Dictionary(uniqueKeysWithValues: names),
                hashes: person.ids.map(\.hash), in: appID, at: now)
            return .done((ErasureResult(purchases: unlinked), position))
        }
    }

    /// What erasing a customer would do. Returns nil if the id is unknown, so that there is nothing
    /// to erase.
    package func erasure(
        of id: CustomerID, app appID: AppID
    ) async throws(EngineFailure) -> ErasureResult? {
        _ = try context.app(appID)
        return try await context.read { tx in
            try CustomerFinder(tx).customerToErase(id, in: appID).map { person in
                ErasureResult(
                    purchases: try CustomerErasure(tx).erasableCount(of: person, in: appID))
            }
        }
    }
}

// MARK: - The list of erasures

extension CustomerService {
    /// The ids of the customer who is about to be erased, and the intent to append to the list. The
    /// intent is nil if nothing about the customer is stored.
    private func intent(
        toErase id: CustomerID, app: AppID
    ) async throws(EngineFailure) -> ([CustomerID], ErasureIntent?) {
        let ids = try await context.read { tx -> [CustomerID] in
            if let person = try CustomerFinder(tx).customerToErase(id, in: app) {
                return try CustomerFinder(tx).ids(ofErased: person, in: app)
            }
            // The id may belong to an invited person who never joined.
            return try tx.seatInvitations.exist(naming: [id], in: app) ? [id] : []
        }
        guard !ids.isEmpty else { return ([], nil) }
        let key = try await erasureKey(of: app)
        let name = SymmetricKey(size: .bits128).withUnsafeBytes { Hexadecimal.text(Array($0)) }
        return (
            ids,
            ErasureIntent(
                name: String(name.prefix(ErasureIntent.nameDigits)), app: app, at: context.now(),
                key: key.name, codes: ids.map(key.code(of:)))
        )
    }

    /// The key under which the erasures of an app are listed. Does not use a transaction of
    /// ``Context``, because such a transaction would append the audit entry of an operator's
    /// action.
    func erasureKey(of app: AppID) async throws(EngineFailure) -> ErasureKey {
        let now = context.now()
        do {
            return ErasureKey(
                try await context.db.transaction { tx in try tx.erasedIDs.key(of: app, at: now) })
        } catch { throw context.counted(error) }
    }

    private func append(
        _ line: ErasureLine, to list: ErasureList
    ) async throws(EngineFailure) {
        do { try await list.append([line]) } catch {
            throw .erasureNotListed(
                "Nobody is erased, because the list of erasures failed: \(error)")
        }
    }

    /// Appends the end of an erasure. If this fails, the server finds an erasure without an end at
    /// its next start, and completes the erasure.
    private func appendEnd(
        of intent: ErasureIntent, at position: LogPosition, to list: ErasureList
    ) async {
        await report(.end(name: intent.name, app: intent.app, position: position), to: list)
    }

    private func abandon(_ intent: ErasureIntent, in list: ErasureList) async {
        await report(.abandoned(name: intent.name, app: intent.app), to: list)
    }

    private func report(_ line: ErasureLine, to list: ErasureList) async {
        do { try await list.append([line]) } catch {
            context.logger.error(
                "the end of an erasure was not listed", metadata: ["error": "\(error)"])
        }
    }

    /// Whether it is certain that a failed transaction has not erased the customer. If this is
    /// uncertain, returns false: the erasure stays listed, and the server completes it at its next
    /// start.
    private func isStillThere(_ id: CustomerID, _ ids: [CustomerID], app: AppID) async -> Bool {
        let found = try? await context.read { tx -> [CustomerID] in
            if let person = try CustomerFinder(tx).customerToErase(id, in: app) {
                return try CustomerFinder(tx).ids(ofErased: person, in: app)
            }
            return try tx.seatInvitations.exist(naming: [id], in: app) ? [id] : []
        }
        return found.map { Set($0).isSuperset(of: ids) } ?? false
    }
}

extension ErasureResult {
    fileprivate static let nothing = ErasureResult(purchases: 0)
}

extension CustomerErasure {
    /// Deletes the invitations of a person who never joined, and the differences of the last
    /// rehearsal, which may name a person whom only RevenueCat knows.
    fileprivate func eraseInvitations(
        naming id: CustomerID, in app: AppID, listing listed: Set<CustomerID>?
    ) throws -> Decision<(result: ErasureResult, position: LogPosition?)?> {
        try tx.rehearsals.deleteDifferences(of: app)
        guard try tx.seatInvitations.exist(naming: [id], in: app) else {
            return .unchanged((.nothing, nil))
        }
        if let listed, !listed.contains(id) { return .unchanged(nil) }
        let position = try position(in: app, isListed: listed != nil)
        _ = try tx.seatInvitations.delete(naming: [id], in: app)
        return .done((.nothing, position))
    }

    /// The position of the next event in the log. All earlier events belong to transactions that
    /// were committed before this one. A log that has an event at this position also contains this
    /// transaction.
    fileprivate func position(
        in app: AppID, isListed: Bool
    ) throws(StorageFailure) -> LogPosition? {
        guard isListed else { return nil }
        try tx.pendingEvents.lockLog(of: app)
        try tx.pendingEvents.numberAll(of: app)
        return try tx.events.nextPosition(of: app)
    }
}

extension ErasureKeying {
    static let hmac = ErasureKeying(
        code: { hash, key in
            Array(HMAC<SHA256>.authenticationCode(for: hash, using: SymmetricKey(data: key)))
        },
        freshKey: { SymmetricKey(size: .bits256).withUnsafeBytes { Array($0) } })
}

extension CustomerID {
    /// The SHA-256 of the id in lower case, because account tokens are compared without case.
    var hash: [UInt8] { Array(SHA256.hash(data: Array(rawValue.lowercased().utf8))) }

    /// The number of characters of a pseudonym after its prefix.
    private static let erasedCharacters = 24

    fileprivate static func erased(_ salt: [UInt8], _ index: Int) -> CustomerID {
        let digest = Array(SHA256.hash(data: salt + Array("\(index)".utf8)))
        return CustomerID(
            rawValue: "erased_\(Hexadecimal.text(digest).prefix(erasedCharacters))")
    }
}
