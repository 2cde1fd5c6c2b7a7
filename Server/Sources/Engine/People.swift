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
        case order = "order_id"
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

    /// Looks for customers by an id of theirs, also where it is but the account token of purchases;
    /// or by a number of a transaction: the first of a purchase, or, where the store can be asked,
    /// any, and that of an order.
    package func customers(
        like query: String, app appID: AppID
    ) async throws(EngineFailure) -> [FoundCustomer] {
        _ = try app(appID)
        guard query.utf8.count <= Self.queryBytesMax else {
            throw .queryTooLong(limit: Self.queryBytesMax)
        }
        let found = try await reading { tx in
            let known = try tx.customer(sought: CustomerID(rawValue: query), in: appID)
            return try (known.map { [FoundCustomer(customer: $0, purchase: nil, by: .id)] } ?? [])
                + tx.owners(of: [query], in: appID, by: .transaction)
        }
        guard found.isEmpty else { return found }
        let (originals, means) = await originals(behind: query, in: appID)
        return try await reading { tx in try tx.owners(of: originals, in: appID, by: means) }
    }

    /// What the store says of a number that we do not know: that of any transaction of a chain, or
    /// of the order in the customer's mail.
    private func originals(
        behind query: String, in app: AppID
    ) async -> ([String], FoundCustomer.Means) {
        if !query.isEmpty, query.allSatisfy({ $0.isASCII && $0.isNumber }) {
            return (await original(of: query, in: app).map { [$0] } ?? [], .transaction)
        }
        guard let order = Self.orderNumber(query) else { return ([], .order) }
        return (await originals(ofOrder: order, in: app), .order)
    }

    /// In the letters that the store uses. Nil for what is no order's number: the store is told of
    /// nothing else that somebody looks for.
    package static func orderNumber(_ text: String) -> String? {
        guard text.wholeMatch(of: #/[Mm][0-9A-Za-z]{7,14}/#) != nil, text.contains(/[0-9]/) else {
            return nil
        }
        return text.uppercased()
    }

    /// The first transaction of the chain that another belongs to, by the store's answer. Nil where
    /// it cannot be asked, does not answer, or does not know it: then nothing is found.
    private func original(of transaction: String, in app: AppID) async -> String? {
        await originals(in: app) { store in
            let environment = try await store.whereKnown(transaction)
            return [try await store.transaction(transaction, in: environment)]
        }.first
    }

    /// The same of all transactions of an order.
    private func originals(ofOrder order: String, in app: AppID) async -> [String] {
        await originals(in: app) { store in try await store.transactions(ofOrder: order) }
    }

    private func originals(
        in app: AppID, _ ask: (AppStoreClient) async throws -> [String]
    ) async -> [String] {
        guard let store = asking.appStore(app), let verifier = verifiers[app],
            let settings = apps[app]
        else { return [] }
        do {
            var originals: [String] = []
            for signed in try await ask(store) {
                let outcome = await verifier.transaction(
                    Array(signed.utf8), for: settings.identity, at: AppStoreDate(now()))
                let original = try trusted(outcome).payload.originalTransactionId
                if let original, !originals.contains(original) { originals.append(original) }
            }
            return originals
        } catch {
            logger.notice(
                "The App Store did not help to find a transaction.",
                metadata: ["app": .string(app.rawValue), "error": "\(error)"])
            return []
        }
    }

    /// Forgets a person: their ids and what was theirs. Their purchases become nobody's, but for
    /// consumables, which stay used up under a name that means nothing. What Apple signed, and the
    /// money in it, stays. Harmless to repeat.
    package func erase(
        _ id: CustomerID, app appID: AppID
    ) async throws(EngineFailure) -> Erased {
        _ = try app(appID)
        try id.requireMeaning()
        let now = now()
        // Drawn before the transaction, which may be run several times.
        let salt = SymmetricKey(size: .bits128).withUnsafeBytes { Array($0) }
        return try await transaction { tx in
            guard let person = try tx.person(id, in: appID) else {
                return Erased(purchases: 0)
            }
            let names = person.ids.enumerated().map { index, id in
                (id, CustomerID.erased(salt, index))
            }
            let unlinked = try tx.erase(
                person, names: Dictionary(uniqueKeysWithValues: names),
                hashes: person.ids.map(\.hash), in: appID, at: now)
            return Erased(purchases: unlinked)
        }
    }

    /// Erasures that are rewritten in one transaction.
    private static let keyedAtOnce = 500

    /// Rewrites erasures that an earlier version kept as plain hashes. Harmless to repeat.
    func keyErasures() async throws(EngineFailure) {
        let now = now()
        for app in apps.keys.sorted() {
            guard try await reading({ tx in try tx.hasPlainErasures(in: app) }) else { continue }
            while try await transaction({ tx in
                try tx.keyErasures(in: app, at: now, limit: Self.keyedAtOnce)
            }) > 0 {}
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

extension StoreTransaction {
    /// Who is to be forgotten: also one of whom nothing is kept, whose id purchases may carry as
    /// account token, today or later.
    fileprivate func person(_ id: CustomerID, in app: AppID) throws -> StoredCustomer? {
        if let known = try customer(known: id, in: app) { return known }
        if try !partedFrom([id], in: app).isEmpty { return StoredCustomer(customer: id, ids: [id]) }
        guard let token = id.accountToken, try named(by: token, or: [id], in: app) == id else {
            return nil
        }
        return StoredCustomer(customer: id, ids: [id])
    }

    /// Whom an id means: also one of whom nothing is kept, for whom purchases answer that name the
    /// id; and who is known by the same token in the other case.
    fileprivate func customer(sought id: CustomerID, in app: AppID) throws -> StoredCustomer? {
        if let known = try customer(known: id, in: app) { return known }
        guard let token = id.accountToken, let holder = try named(by: token, or: [id], in: app)
        else { return nil }
        guard holder == id else { return try customer(known: holder, in: app) }
        for environment in Environment.allCases
        where try !unlinkedTimelines(token: token, in: app, environment: environment).isEmpty {
            return StoredCustomer(customer: id, ids: [id])
        }
        return nil
    }

    /// Who has purchases, by the numbers of their first transactions.
    fileprivate func owners(
        of originals: [String], in app: AppID, by means: FoundCustomer.Means
    ) throws -> [FoundCustomer] {
        var found: [FoundCustomer] = []
        for original in originals {
            for environment in Environment.allCases {
                let purchase = PurchaseID(TransactionID(rawValue: original), in: environment)
                guard let known = try timeline(of: purchase, in: app) else { continue }
                found.append(
                    FoundCustomer(
                        customer: try customer(having: known, in: app), purchase: purchase,
                        by: means))
            }
        }
        return found
    }

    /// For whom a purchase answers: also one of whom nothing is kept but the token in it.
    private func customer(having timeline: Timeline, in app: AppID) throws -> StoredCustomer? {
        var holder = try link(of: timeline.purchase, in: app)?.customer
        if holder == nil, let token = timeline.accountToken {
            holder = try named(by: token, or: [], in: app)
        }
        return try holder.map {
            try customer(known: $0, in: app) ?? StoredCustomer(customer: $0, ids: [$0])
        }
    }
}

extension CustomerID {
    /// As account tokens are compared.
    var hash: [UInt8] { Array(SHA256.hash(data: Array(rawValue.lowercased().utf8))) }

    /// Characters behind the prefix.
    private static let erasedCharacters = 24

    fileprivate static func erased(_ salt: [UInt8], _ index: Int) -> CustomerID {
        let digest = Array(SHA256.hash(data: salt + Array("\(index)".utf8)))
        return CustomerID(
            rawValue: "erased_\(Hexadecimal.text(digest).prefix(erasedCharacters))")
    }
}
