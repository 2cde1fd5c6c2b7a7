import AppStoreClient
import AppStoreFormats
import Ledger
import Storage

/// A customer found by a search, and how the query matched.
package struct FoundCustomer: Hashable, Sendable {
    /// The customer. Nil if the purchase that was found has no owner.
    package var customer: StoredCustomer?
    package var purchase: PurchaseID?
    package var by: Match

    package enum Match: String, Hashable, Sendable {
        case id
        /// One of the customer's ids begins with the query, in upper or lower case.
        case prefix = "id_prefix"
        case transaction = "transaction_id"
        case order = "order_id"
        /// The query is the id of a claim on a seat, which the customer has or had.
        case claim = "claim_id"
        /// The query is the customer's mail address, according to the app.
        case mailAddress = "mail_address"
    }
}

/// The customers that a search found, and the App Store's answer about the query.
package struct CustomerSearch: Hashable, Sendable {
    package var found: [FoundCustomer]
    package var store: Store
    /// Whether further customers, who are not returned, have ids that begin with the query.
    package var hasMore = false

    package enum Store: Hashable, Sendable {
        /// The App Store was not queried: a customer was found here, or the text does not have the
        /// form of one of the App Store's ids.
        case notQueried
        /// The App Store answered with the original transaction ids that belong to the query. Empty
        /// if there are none.
        case answered([String])
        /// The app has no key for querying the App Store.
        case notConfigured
        /// The App Store did not answer, or its answer could not be used.
        case failed
    }
}

extension CustomerService {
    /// The maximum length of a search query, in bytes.
    package static let queryBytesMax = 255

    /// Finds customers. The query may be one of a customer's ids, even if the id occurs only as an
    /// account token of purchases. It may also be the original transaction id of a purchase, the id
    /// of a claim on a seat, or the mail address in a customer's attributes. If the App Store can
    /// be queried, the query may be any transaction id or order id.
    ///
    /// - Parameter byPrefix: whether to find customers whose ids begin with the query, in upper or
    ///   lower case, if no customer has exactly this id. The query may end with an ellipsis.
    package func find(
        like query: String, byPrefix: Bool = false, app appID: AppID
    ) async throws(EngineFailure) -> CustomerSearch {
        _ = try context.app(appID)
        guard query.utf8.count <= Self.queryBytesMax else {
            throw .queryTooLong(limit: Self.queryBytesMax)
        }
        let found = try await context.read { tx in
            let known = try CustomerFinder(tx).customer(
                sought: CustomerID(rawValue: query), in: appID)
            return try (known.map { [FoundCustomer(customer: $0, purchase: nil, by: .id)] } ?? [])
                + CustomerFinder(tx).owners(of: [query], in: appID, by: .transaction)
                + CustomerFinder(tx).members(having: query, in: appID)
                + CustomerFinder(tx).customers(withMailAddress: query, in: appID).filter {
                    $0.customer?.customer != known?.customer
                }
        }
        guard found.isEmpty else { return CustomerSearch(found: found, store: .notQueried) }
        let similar = byPrefix ? try await find(beginningWith: query, in: appID) : []
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
            found: try await context.read { tx in
                try CustomerFinder(tx).owners(of: originals, in: appID, by: means)
            },
            store: store)
    }

    /// The maximum number of customers that are found by the beginning of an id.
    private static let similarMax = 20

    private func find(
        beginningWith query: String, in app: AppID
    ) async throws(EngineFailure) -> [StoredCustomer] {
        let ellipses = ["…", "..."]
        let prefix =
            ellipses.first(where: query.hasSuffix).map { String(query.dropLast($0.count)) } ?? query
        guard !prefix.isEmpty else { return [] }
        return try await context.read { tx in
            try tx.customers.all(beginningWith: prefix, in: app, limit: Self.similarMax + 1)
        }
    }

    /// Queries the App Store about an id that is not stored. The id may be the id of any
    /// transaction of a subscription, or the order id in Apple's e-mail to the customer.
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

    /// Apple's codes for unreadable requests, such as an order number of the wrong form.
    private static let badRequests: Range<Int64> = 4_000_000..<4_010_000

    private func originals(
        in app: AppID, _ ask: (AppStoreClient) async throws -> [String]
    ) async -> CustomerSearch.Store {
        guard let store = context.reconciliationSettings.appStore(app),
            let verifier = context.verifiers[app],
            let settings = context.apps[app]
        else { return .notConfigured }
        do {
            var originals: [String] = []
            for signed in try await ask(store) {
                let outcome = await verifier.transaction(
                    Array(signed.utf8), for: settings.identity, at: AppStoreDate(context.now()))
                let original = try verification.trusted(outcome).payload.originalTransactionId
                if let original, !originals.contains(original) { originals.append(original) }
            }
            return .answered(originals)
        } catch AppStoreFailure.unknownID {
            return .answered([])
        } catch AppStoreFailure.refused(let code, _) where Self.badRequests.contains(code) {
            // The text is not an id of Apple.
            return .answered([])
        } catch {
            context.logger.notice(
                "querying the App Store for a transaction failed",
                metadata: ["app": .string(app.rawValue), "error": "\(error)"])
            return .failed
        }
    }
}
