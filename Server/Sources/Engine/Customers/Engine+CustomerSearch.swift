import AppStoreClient
import AppStoreFormats
import Crypto
import Ledger
import Storage

/// A customer who was found by a search, and how the query matched.
package struct FoundCustomer: Hashable, Sendable {
    /// Nil if the purchase that was found has no owner.
    package var customer: StoredCustomer?
    package var purchase: PurchaseID?
    package var by: Match

    package enum Match: String, Hashable, Sendable {
        case id
        /// One of the customer's ids begins with the query, in any case.
        case prefix = "id_prefix"
        case transaction = "transaction_id"
        case order = "order_id"
        /// The claim on a seat, of the member who has or had it.
        case claim = "claim_id"
    }
}

/// The customers that a search found, and what the App Store said of the query.
package struct CustomerSearch: Hashable, Sendable {
    package var found: [FoundCustomer]
    package var store: Store
    /// Whether more customers match by the beginning of their ids than were found.
    package var hasMore = false

    package enum Store: Hashable, Sendable {
        /// It was not queried: something was found here, or the text is none of its numbers.
        case notQueried
        /// The original transaction ids that it knows of the number. Empty if it knows none.
        case answered([String])
        /// The app has no key for queries.
        case notConfigured
        /// It did not answer, or what it answered could not be used.
        case failed
    }
}

/// The result of erasing a customer.
package struct ErasureResult: Hashable, Sendable {
    /// The number of purchases that now have no owner.
    package var purchases: Int
}

extension Engine {
    /// The maximum length of a search query, in bytes.
    package static let queryBytesMax = 255

    /// Finds customers by one of their ids, even if it only occurs as an account token of
    /// purchases; by the original transaction id of a purchase; by their claim on a seat; or, if
    /// the App Store can be queried, by any transaction id or order id.
    ///
    /// - Parameter byPrefix: whether to find customers whose ids begin with the query, in any case,
    ///   if none has exactly this id. The query may end with an ellipsis.
    package func customers(
        like query: String, byPrefix: Bool = false, app appID: AppID
    ) async throws(EngineFailure) -> CustomerSearch {
        _ = try app(appID)
        guard query.utf8.count <= Self.queryBytesMax else {
            throw .queryTooLong(limit: Self.queryBytesMax)
        }
        let found = try await read { tx in
            let known = try tx.customer(sought: CustomerID(rawValue: query), in: appID)
            return try (known.map { [FoundCustomer(customer: $0, purchase: nil, by: .id)] } ?? [])
                + tx.owners(of: [query], in: appID, by: .transaction)
                + tx.members(having: query, in: appID)
        }
        guard found.isEmpty else { return CustomerSearch(found: found, store: .notQueried) }
        let similar = byPrefix ? try await customers(beginningWith: query, in: appID) : []
        guard similar.isEmpty else {
            let shown = similar.prefix(Self.similarMax).map {
                FoundCustomer(customer: $0, purchase: nil, by: .prefix)
            }
            return CustomerSearch(
                found: shown, store: .notQueried, hasMore: similar.count > shown.count)
        }
        let (store, means) = await originals(behind: query, in: appID)
        guard case .answered(let originals) = store else {
            return CustomerSearch(found: [], store: store)
        }
        return CustomerSearch(
            found: try await read { tx in try tx.owners(of: originals, in: appID, by: means) },
            store: store)
    }

    /// The maximum number of customers that are found by the beginning of an id.
    private static let similarMax = 20

    private func customers(
        beginningWith query: String, in app: AppID
    ) async throws(EngineFailure) -> [StoredCustomer] {
        let ellipses = ["…", "..."]
        let prefix =
            ellipses.first(where: query.hasSuffix).map { String(query.dropLast($0.count)) } ?? query
        guard !prefix.isEmpty else { return [] }
        return try await read { tx in
            try tx.customers(beginningWith: prefix, in: app, limit: Self.similarMax + 1)
        }
    }

    /// Queries the App Store about an id that we do not know: of any transaction of a subscription,
    /// or of the order in the customer's e-mail.
    private func originals(
        behind query: String, in app: AppID
    ) async -> (CustomerSearch.Store, FoundCustomer.Match) {
        if !query.isEmpty, query.allSatisfy({ $0.isASCII && $0.isNumber }) {
            return (await originals(of: query, in: app), .transaction)
        }
        guard let order = Self.orderNumber(query) else { return (.notQueried, .order) }
        return (await originals(ofOrder: order, in: app), .order)
    }

    /// The order id in upper case, as the App Store writes it. Returns nil if the text is not an
    /// order id: no other search query is sent to the App Store.
    package static func orderNumber(_ text: String) -> String? {
        guard text.wholeMatch(of: #/[Mm][0-9A-Za-z]{7,14}/#) != nil, text.contains(/[0-9]/) else {
            return nil
        }
        return text.uppercased()
    }

    /// The original transaction id of the chain that a transaction belongs to, according to the App
    /// Store.
    private func originals(of transaction: String, in app: AppID) async -> CustomerSearch.Store {
        await originals(in: app) { store in
            let environment = try await store.findEnvironment(transaction)
            return [try await store.transaction(transaction, in: environment)]
        }
    }

    /// The original transaction ids of all transactions of an order, according to the App Store.
    private func originals(ofOrder order: String, in app: AppID) async -> CustomerSearch.Store {
        await originals(in: app) { store in try await store.transactions(ofOrder: order) }
    }

    /// Apple's codes for what it cannot read, such as an order number of the wrong form.
    private static let badRequests: Range<Int64> = 4_000_000..<4_010_000

    private func originals(
        in app: AppID, _ ask: (AppStoreClient) async throws -> [String]
    ) async -> CustomerSearch.Store {
        guard let store = reconciliation.appStore(app), let verifier = verifiers[app],
            let settings = apps[app]
        else { return .notConfigured }
        do {
            var originals: [String] = []
            for signed in try await ask(store) {
                let outcome = await verifier.transaction(
                    Array(signed.utf8), for: settings.identity, at: AppStoreDate(now()))
                let original = try trusted(outcome).payload.originalTransactionId
                if let original, !originals.contains(original) { originals.append(original) }
            }
            return .answered(originals)
        } catch AppStoreFailure.unknownID {
            return .answered([])
        } catch AppStoreFailure.refused(let code, _) where Self.badRequests.contains(code) {
            // It is no number of Apple's at all.
            return .answered([])
        } catch {
            logger.notice(
                "querying the App Store for a transaction failed",
                metadata: ["app": .string(app.rawValue), "error": "\(error)"])
            return .failed
        }
    }

    /// Erases a customer: their ids and their personal data. Their purchases lose their owner,
    /// except for consumables, which stay consumed under a meaningless pseudonym. What Apple signed
    /// is preserved, including amounts of money. Idempotent.
    package func erase(
        _ id: CustomerID, app appID: AppID
    ) async throws(EngineFailure) -> ErasureResult {
        _ = try app(appID)
        try id.requireValid()
        let now = now()
        // Generated before the transaction, which may run several times.
        let salt = SymmetricKey(size: .bits128).withUnsafeBytes { Array($0) }
        return try await decide(isErasing: true) { tx in
            guard let person = try tx.customerToErase(id, in: appID) else {
                let nothing = ErasureResult(purchases: 0)
                // Somebody who was invited, and never came.
                let wasInvited = try tx.deleteInvitations(naming: [id], in: appID)
                return wasInvited ? .done(nothing) : .unchanged(nothing)
            }
            let ids = person.ids + (try tx.separatedDevices(of: person.customer, in: appID))
            let names = ids.enumerated().map { index, id in (id, CustomerID.erased(salt, index)) }
            let unlinked = try tx.erase(
                person, names: Dictionary(uniqueKeysWithValues: names),
                hashes: person.ids.map(\.hash), in: appID, at: now)
            return .done(ErasureResult(purchases: unlinked))
        }
    }

    /// What erasing a customer would do. Returns nil if the id names nobody, so that there is
    /// nothing to erase.
    package func erasure(
        of id: CustomerID, app appID: AppID
    ) async throws(EngineFailure) -> ErasureResult? {
        _ = try app(appID)
        return try await read { tx in
            try tx.customerToErase(id, in: appID).map { person in
                ErasureResult(purchases: try tx.erasableCount(of: person, in: appID))
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

extension DatabaseSession {
    /// The customer to be erased. This includes an id of which nothing is stored, but which
    /// purchases carry as their account token, now or later.
    fileprivate func customerToErase(_ id: CustomerID, in app: AppID) throws -> StoredCustomer? {
        if let known = try customer(known: id, in: app) { return known }
        if try !customersSeparatedFrom([id], in: app).isEmpty {
            return StoredCustomer(customer: id, ids: [id])
        }
        guard let token = id.accountToken, try identified(by: token, or: [id], in: app) == id else {
            return nil
        }
        return StoredCustomer(customer: id, ids: [id])
    }

    /// The customer that a searched id identifies. This includes an id of which nothing is stored,
    /// if purchases carry it as their account token; and a customer whose id is the same token with
    /// different case.
    fileprivate func customer(sought id: CustomerID, in app: AppID) throws -> StoredCustomer? {
        if let known = try customer(known: id, in: app) { return known }
        guard let token = id.accountToken, let holder = try identified(by: token, or: [id], in: app)
        else { return nil }
        guard holder == id else { return try customer(known: holder, in: app) }
        for environment in Environment.allCases
        where try !unlinkedTimelines(token: token, in: app, environment: environment).isEmpty {
            return StoredCustomer(customer: id, ids: [id])
        }
        return nil
    }

    /// The customer who has or had a claim on a seat. Empty if the claim is unknown, or if they
    /// were erased.
    fileprivate func members(having claim: String, in app: AppID) throws -> [FoundCustomer] {
        let id = SeatClaimID(rawValue: claim.lowercased())
        guard let claim = try seatClaim(id, in: app)?.claim,
            let member = try customer(known: claim.customer, in: app)
        else { return [] }
        return [FoundCustomer(customer: member, purchase: nil, by: .claim)]
    }

    /// The owners of purchases, by their original transaction ids.
    fileprivate func owners(
        of originals: [String], in app: AppID, by means: FoundCustomer.Match
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

    /// The owner of a purchase, even if nothing is stored of them but the account token in it.
    private func customer(having timeline: Timeline, in app: AppID) throws -> StoredCustomer? {
        var holder = try link(of: timeline.purchase, in: app)?.customer
        if holder == nil, let token = timeline.accountToken {
            holder = try identified(by: token, or: [], in: app)
        }
        return try holder.map {
            try customer(known: $0, in: app) ?? StoredCustomer(customer: $0, ids: [$0])
        }
    }
}

extension CustomerID {
    /// The hash of an id, in lower case, as account tokens are compared.
    var hash: [UInt8] { Array(SHA256.hash(data: Array(rawValue.lowercased().utf8))) }

    /// The number of characters after the prefix.
    private static let erasedCharacters = 24

    fileprivate static func erased(_ salt: [UInt8], _ index: Int) -> CustomerID {
        let digest = Array(SHA256.hash(data: salt + Array("\(index)".utf8)))
        return CustomerID(
            rawValue: "erased_\(Hexadecimal.text(digest).prefix(erasedCharacters))")
    }
}
