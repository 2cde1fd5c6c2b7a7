import Crypto
import Ledger
import Storage

/// The result of erasing a customer.
package struct ErasureResult: Hashable, Sendable {
    /// The number of purchases that lost their owner.
    package var purchases: Int
}

extension CustomerService {
    /// Erases a customer: the ids and the personal data. The customer's purchases lose their owner,
    /// except for consumables, which stay used up under a meaningless pseudonym. Documents that
    /// Apple signed are preserved, including amounts of money. Idempotent.
    package func erase(
        _ id: CustomerID, app appID: AppID
    ) async throws(EngineFailure) -> ErasureResult {
        _ = try context.app(appID)
        try id.requireValid()
        let now = context.now()
        // The salt is generated before the transaction, because the transaction may run several
        // times.
        let salt = SymmetricKey(size: .bits128).withUnsafeBytes { Array($0) }
        return try await context.decide(isErasing: true) { tx in
            guard let person = try CustomerFinder(tx).customerToErase(id, in: appID) else {
                let nothing = ErasureResult(purchases: 0)
                // The id may belong to an invited person who never joined.
                let wasInvited = try tx.seatInvitations.delete(naming: [id], in: appID)
                return wasInvited ? .done(nothing) : .unchanged(nothing)
            }
            let ids =
                person.ids + (try tx.customers.separatedDevices(of: person.customer, in: appID))
            let names = ids.enumerated().map { index, id in (id, CustomerID.erased(salt, index)) }
            let unlinked = try CustomerErasure(tx).erase(
                person, names: Dictionary(uniqueKeysWithValues: names),
                hashes: person.ids.map(\.hash), in: appID, at: now)
            return .done(ErasureResult(purchases: unlinked))
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
