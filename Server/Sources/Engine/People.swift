import AppStoreClient
import AppStoreFormats
import Crypto
import Ledger
import Storage

/// A customer who was looked for, and by what they were found.
package struct FoundCustomer: Hashable, Sendable {
    /// Nil where a purchase was found that is nobody's.
    package var customer: StoredCustomer?
    package var purchase: PurchaseID?
    package var by: Means

    package enum Means: String, Hashable, Sendable {
        case id
        case transaction = "transaction_id"
    }
}

/// What is left of a person who was erased.
package struct Erased: Hashable, Sendable {
    /// Purchases that are nobody's now.
    package var purchases: Int
}

extension Engine {
    /// Bytes of what is looked for.
    package static let queryBytesMax = 255

    /// Looks for customers by an id of theirs, or by a number of a transaction: the first of a
    /// purchase, or, where the store can be asked, any.
    package func customers(
        like query: String, app appID: AppID
    ) async throws(EngineFailure) -> [FoundCustomer] {
        _ = try app(appID)
        guard query.utf8.count <= Self.queryBytesMax else {
            throw .tooMuch(what: "bytes of a query", limit: Self.queryBytesMax)
        }
        let found = try await found(query, original: query, in: appID)
        guard found.isEmpty, query.allSatisfy({ $0.isASCII && $0.isNumber }), !query.isEmpty,
            let original = await original(of: query, in: appID)
        else { return found }
        return try await self.found(query, original: original, in: appID)
    }

    private func found(
        _ query: String, original: String, in app: AppID
    ) async throws(EngineFailure) -> [FoundCustomer] {
        try await reading { tx in
            var found: [FoundCustomer] = []
            if let known = try tx.customer(known: CustomerID(rawValue: query), in: app) {
                found.append(FoundCustomer(customer: known, purchase: nil, by: .id))
            }
            for environment in Environment.allCases {
                let purchase = PurchaseID(TransactionID(rawValue: original), in: environment)
                guard try tx.timeline(of: purchase, in: app) != nil else { continue }
                let owner = try tx.link(of: purchase, in: app)?.customer
                found.append(
                    FoundCustomer(
                        customer: try owner.flatMap { try tx.customer(known: $0, in: app) },
                        purchase: purchase, by: .transaction))
            }
            return found
        }
    }

    /// The first transaction of the chain that another belongs to, by the store's answer. Nil where
    /// it cannot be asked, does not answer, or does not know it: then nothing is found.
    private func original(of transaction: String, in app: AppID) async -> String? {
        guard let store = asking.appStore(app), let verifier = verifiers[app],
            let settings = apps[app]
        else { return nil }
        do {
            let environment = try await store.whereKnown(transaction)
            let signed = Array(try await store.transaction(transaction, in: environment).utf8)
            let outcome = await verifier.transaction(
                signed, for: settings.identity, at: AppStoreDate(now()))
            return try trusted(outcome).payload.originalTransactionId
        } catch {
            logger.notice(
                "The App Store did not help to find a transaction.",
                metadata: ["app": .string(app.rawValue), "error": "\(error)"])
            return nil
        }
    }

    /// Forgets a person: their ids and what was theirs. Their purchases become nobody's: what Apple
    /// signed, and the money in it, stays. Harmless to repeat.
    package func erase(
        _ id: CustomerID, app appID: AppID
    ) async throws(EngineFailure) -> Erased {
        _ = try app(appID)
        try id.requireMeaning()
        let now = now()
        // Drawn before the transaction, which may be run several times.
        let salt = SymmetricKey(size: .bits128).withUnsafeBytes { Array($0) }
        return try await transaction { tx in
            guard let person = try tx.customer(known: id, in: appID) else {
                return Erased(purchases: 0)
            }
            let count = try tx.linkCount(of: person.customer, in: appID)
            let names = person.ids.enumerated().map { index, id in
                (id, CustomerID.erased(salt, index))
            }
            try tx.erase(
                person, names: Dictionary(uniqueKeysWithValues: names),
                hashes: person.ids.map(\.hash), in: appID, at: now)
            return Erased(purchases: count)
        }
    }
}

extension CustomerID {
    /// As account tokens are compared.
    var hash: [UInt8] { Array(SHA256.hash(data: Array(rawValue.lowercased().utf8))) }

    /// Characters behind the prefix.
    private static let erasedCharacters = 24

    fileprivate static func erased(_ salt: [UInt8], _ index: Int) -> CustomerID {
        let digest = DocumentID(bytes: Array(SHA256.hash(data: salt + Array("\(index)".utf8))))
        return CustomerID(rawValue: "erased_\(digest.rawValue.prefix(erasedCharacters))")
    }
}
