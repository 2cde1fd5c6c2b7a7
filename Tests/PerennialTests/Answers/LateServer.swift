import Foundation
import PerennialContract

@testable import Perennial

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// A server in memory that answers after a delay, which a test's clock measures, or never.
final class LateServer: Sendable {
    /// The data of the server.
    struct Books: Sendable {
        /// The entitlements that each product gives now.
        var gives: [String: [String]] = [:]
        /// The purchases by customer.
        var sales: [String: [Sale]] = [:]
        var grants: [String: [String]] = [:]
        /// The entitlements that every customer has by a grant.
        var grantsOfAll: [String] = []
        /// The customers by alias.
        var customers: [String: String] = [:]
        /// Purchases that a device can post. A posted document is matched to a purchase by its
        /// transaction id.
        var market: [Sale] = []
        /// The purchases in every receipt that is posted.
        var receipts: [Sale] = []
        var attributes = AttributeBooks()
    }

    private struct State: Sendable {
        var books: Books
        var delay: Int64?
        var isDown = false
        var isCustomerDown = false
        var requests: [String] = []
        /// The times of the requests, by the clock.
        var times: [Int64] = []
        var underWay = 0
        var answers = 0
    }

    private let state: Locked<State>
    let clock: VirtualClock
    let signer: TestSigner?

    /// - Parameters:
    ///   - delay: milliseconds until each answer. Nil if no answer ever comes.
    ///   - signer: signs tokens and offerings. Nil if the app has no tokens.
    init(_ books: Books, after delay: Int64?, by clock: VirtualClock, signer: TestSigner?) {
        state = Locked(State(books: books, delay: delay))
        self.clock = clock
        self.signer = signer
    }

    var requests: [String] { state.withLock { $0.requests } }
    var times: [Int64] { state.withLock { $0.times } }
    /// The requests that have no response yet.
    var underWay: Int { state.withLock { $0.underWay } }
    var attributes: AttributeBooks { state.withLock { $0.books.attributes } }
    /// The customer to whom an id belongs.
    func customerID(of id: String) -> String { state.withLock { $0.books.customers[id] ?? id } }
    var answers: Int { state.withLock { $0.answers } }

    func isDown(_ down: Bool) { state.withLock { $0.isDown = down } }
    /// Sets whether requests about customers fail. Other requests are answered.
    func isCustomerDown(_ down: Bool) { state.withLock { $0.isCustomerDown = down } }
    func answersAfter(_ delay: Int64?) { state.withLock { $0.delay = delay } }
    func change(_ body: (inout Books) -> Void) { state.withLock { body(&$0.books) } }

    @Sendable func send(_ request: URLRequest) async throws -> (Data, URLResponse) {
        let delay = state.withLock { state in
            state.requests.append("\(request.httpMethod ?? "") \(request.url?.path ?? "")")
            state.times.append(clock.elapsed)
            state.underWay += 1
            return state.delay
        }
        defer {
            state.withLock {
                $0.underWay -= 1
                $0.answers += 1
            }
        }
        if state.withLock({ $0.isDown }) { throw URLError(.cannotConnectToHost) }
        guard let delay else {
            for await _ in AsyncStream<Void>(Void.self, { _ in }) {}
            throw CancellationError()
        }
        if delay > 0 { try await clock.sleep(milliseconds: delay) }
        return try answer(request)
    }

    // MARK: - Answers

    private func answer(_ request: URLRequest) throws -> (Data, URLResponse) {
        let path = request.url?.path ?? ""
        let parts = path.split(separator: "/").map(String.init)
        switch (request.httpMethod ?? "", parts.dropFirst().first ?? "", parts.count) {
        case ("GET", "offerings", _): return try respond(offerings())
        case (_, "customers", _) where state.withLock({ $0.isCustomerDown }):
            return (Data(), try Self.response(503))
        case ("GET", "customers", 3): return try respond(customer(parts[2]))
        case ("POST", "customers", 4) where parts[3] == "aliases":
            let alias = try JSONDecoder().decode(
                AliasRequest.self, from: request.httpBody ?? Data())
            state.withLock { $0.books.join(alias.customerID, to: parts[2]) }
            return try respond(customer(parts[2]))
        case ("PATCH", "customers", 4) where parts[3] == "attributes":
            let now = clock.now()
            return try state.withLock { try $0.books.change(of: parts[2], by: request, at: now) }
        case ("DELETE", "customers", 3):
            state.withLock { $0.books.erase(parts[2]) }
            return (Data(), try Self.response(204))
        case ("POST", "purchases", 2):
            let body = try JSONDecoder().decode(
                PurchasesRequest.self, from: request.httpBody ?? Data())
            return try respond(post(body))
        case ("GET", "jwks.json", _):
            return try respond(TokenKeySet(keys: signer.map { [$0.published] } ?? []))
        default: return (Data(), try Self.response(404))
        }
    }

    private func respond(_ body: some Encodable) throws -> (Data, URLResponse) {
        let time = ["Perennial-Server-Time": "\(clock.now())"]
        return (try JSONEncoder().encode(body), try Self.response(200, time))
    }

    static func response(
        _ status: Int, _ headers: [String: String] = [:]
    ) throws -> URLResponse {
        guard let url = URL(string: "http://late.test"),
            let response = HTTPURLResponse(
                url: url, statusCode: status, httpVersion: "HTTP/1.1", headerFields: headers)
        else { throw URLError(.badServerResponse) }
        return response
    }

    private func post(_ body: PurchasesRequest) -> PerennialContract.Customer {
        let ids = (body.signedTransactions ?? []).compactMap {
            TransactionPayload(StoreDocument(jws: $0, isVerified: true))?.transactionId
        }
        state.withLock { state in
            var sales = state.books.market.filter { ids.contains($0.id) }
            if body.appReceipt != nil { sales += state.books.receipts }
            state.books.add(sales, to: body.customerID)
        }
        var customer = customer(body.customerID)
        customer.outcomes = ids.enumerated().map { index, id in
            DocumentOutcome(
                member: "signed_transactions", index: index, transactionID: id, outcome: .kept)
        }
        if body.appReceipt != nil {
            customer.outcomes?.append(.init(member: "app_receipt", index: 0, outcome: .kept))
        }
        return customer
    }

    private func offerings() -> Offerings {
        var offerings = Self.offerings(state.withLock { $0.books.gives })
        guard let signer, let body = try? JSONEncoder().encode(offerings) else { return offerings }
        let text = String(decoding: body, as: UTF8.self)
        offerings.jws = signer.jws(
            #"{"iss":"perennial","aud":"birds","iat":1798000000,"# + text.dropFirst(),
            type: SignedOfferings.type)
        return offerings
    }

    static func offerings(_ gives: [String: [String]]) -> Offerings {
        Offerings(
            app: "birds", bundleID: "com.example.birds", environment: .production,
            products: gives.sorted { $0.key < $1.key }.map { id, rights in
                .init(
                    productID: id, entitlements: rights,
                    term: id.contains("season")
                        ? .init(months: 1, days: 0, bonusDays: 0, chain: "season") : nil)
            },
            timeZone: "UTC", overlap: "stack", unconfirmedHoldHours: 24, offlineDays: 30)
    }

    private func customer(_ name: String) -> PerennialContract.Customer {
        let books = state.withLock { $0.books }
        let id = books.customers[name] ?? name
        let sales = books.sales[id] ?? []
        let now = clock.now()
        var customer = PerennialContract.Customer(
            customerID: name, environment: .production, asOf: now,
            entitlements: books.entitlements(of: id),
            purchases: sales.map {
                PurchaseVerdict(
                    purchaseID: "production:\($0.id)", originalTransactionID: $0.id,
                    verdict: .theirs)
            }, serverTime: now)
        customer.token = signer.map { token(customer, by: $0) }
        return customer
    }

    private func token(
        _ customer: PerennialContract.Customer, by signer: TestSigner
    ) -> String {
        let seconds = customer.asOf.milliseconds / 1000
        let rights = customer.entitlements.filter(\.value.active).map { name, right in
            let end = right.until.map { "\($0.milliseconds / 1000)" } ?? "null"
            let purchase = right.purchaseID.map {
                #","original_transaction_id":"\#($0.split(separator: ":").last ?? "")""#
            }
            return #""\#(name)":{"state":"\#(right.state.rawValue)","until":\#(end)"#
                + "\(purchase ?? "")\(right.willRenew == true ? #","renews":true"# : "")}"
        }
        let purchases = customer.purchases.map { #""\#($0.originalTransactionID)":"theirs""# }
        return signer.token([
            "iat": "\(seconds)", "exp": "\(seconds + 3600)",
            "offline_until": "\(seconds + 30 * 86_400)", "seq": "\(customer.asOf.milliseconds)",
            "sub": #""\#(customer.customerID)""#,
            "entitlements": "{\(rights.sorted().joined(separator: ","))}",
            "purchases": "{\(purchases.sorted().joined(separator: ","))}",
        ])
    }
}

extension LateServer.Books {
    mutating func add(_ new: [Sale], to customer: String) {
        let id = customers[customer] ?? customer
        let known = Set((sales[id] ?? []).map(\.id))
        sales[id, default: []] += new.filter { !known.contains($0.id) }
    }

    mutating func join(_ alias: String, to customer: String) {
        customers[alias] = customer
        sales[customer, default: []] += sales.removeValue(forKey: alias) ?? []
        grants[customer, default: []] += grants.removeValue(forKey: alias) ?? []
        attributes.join(alias, to: customer)
    }

    mutating func erase(_ customer: String) {
        let id = customers[customer] ?? customer
        sales[id] = nil
        grants[id] = nil
        attributes.values[id] = nil
    }

    /// The entitlements of a customer, now and before.
    func entitlements(of id: String) -> [String: Entitlement] {
        var found: [String: Entitlement] = [:]
        for sale in sales[id] ?? [] where sale.type != "Consumable" {
            for name in gives[sale.product] ?? [] where found[name]?.active != true {
                let until = sale.until.map {
                    VirtualClock.start.milliseconds + Int64($0 * 86_400_000)
                }
                found[name] = Entitlement(
                    active: sale.isPaid, until: until.map(Timestamp.init(milliseconds:)),
                    state: sale.isPaid ? .paid : sale.refunded == nil ? .expired : .refunded,
                    reason: "By \(sale.product).", willRenew: sale.renews ? true : nil,
                    productID: sale.product,
                    purchaseID: "production:\(sale.id)")
            }
        }
        for name in (grants[id] ?? []) + grantsOfAll {
            found[name] = Entitlement(
                active: true, until: nil, state: .granted, reason: "A gift.", willRenew: nil,
                productID: nil, purchaseID: nil, grantID: "g")
        }
        return found
    }
}
