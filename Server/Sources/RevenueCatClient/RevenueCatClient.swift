import AppStoreFormats
import Ledger
import OutgoingHTTP

/// Reads a project at RevenueCat, by its REST API of version 2.
///
/// Only `send` uses the network. No request changes anything at RevenueCat. Version 1 of the API is
/// not used, because there a request for an unknown customer creates the customer. If RevenueCat
/// does not respond, or asks for a pause, the request is repeated after a pause, up to named
/// limits. The client sends one request after the other, so it seldom reaches RevenueCat's limit
/// (480 requests in a minute).
package struct RevenueCatClient: Sendable {
    /// RevenueCat's own address.
    package static let address = "https://api.revenuecat.com"
    /// The time from connecting to the last byte of a response, in seconds.
    package static let timeoutSeconds: Int64 = 30
    /// The number of failed attempts of a request after which RevenueCat counts as unavailable.
    package static let attemptsMax = 6
    /// The number of attempts to get a page of one size, before the size is halved.
    private static let pageAttemptsMax = 2
    /// The maximum number of waits of a request because of status 429. RevenueCat's response names
    /// the duration of each wait.
    package static let rateLimitsMax = 60
    /// The longest pause in seconds that is accepted from RevenueCat.
    package static let pauseSecondsMax: Int64 = 600
    /// The pause in seconds after status 429, if RevenueCat names none.
    private static let pauseSeconds: Int64 = 10
    /// The pauses after an error status, or after no response.
    private static let errorPauses = ExponentialBackoff(first: .seconds(1), longest: .seconds(30))
    /// The size of a page of a list. The size is halved if RevenueCat does not return such a page
    /// in time.
    package static let pageMax = 100
    package static let pageMin = 5
    /// The maximum number of entries in one list of a customer, and of the project's products.
    package static let listMax = 2_000
    /// The maximum number of pages with customers.
    package static let customerPagesMax = 200_000
    /// The maximum length of an id, in bytes.
    package static let idBytesMax = 1_500
    /// The maximum number of characters of a response in a message.
    private static let quotedMax = 80
    /// The maximum number of characters of RevenueCat's own message about an error.
    private static let messageMax = 400

    private let project: String
    private let authorization: String
    private let send: @Sendable (RevenueCatRequest) async throws -> RevenueCatResponse
    private let sleep: @Sendable (Duration) async throws -> Void
    private let report: @Sendable (String) -> Void

    /// - Parameters:
    ///   - project: the project's id, such as `proj1ab2c3d4`.
    ///   - key: a secret key of version 2.
    ///   - send: sends a request, such as ``sender(_:base:timeout:)``. An error that it throws
    ///     counts as RevenueCat being unavailable, unless it is a ``RevenueCatClientFailure``.
    ///   - sleep: waits before a request is repeated.
    ///   - report: gets a line for each repeated attempt, before the pause.
    package init(
        project: String, key: String,
        send: @escaping @Sendable (RevenueCatRequest) async throws -> RevenueCatResponse,
        sleep: @escaping @Sendable (Duration) async throws -> Void = {
            try await Task.sleep(for: $0)
        },
        report: @escaping @Sendable (String) -> Void = { _ in }
    ) {
        self.project = project
        authorization = "Bearer \(key)"
        self.send = send
        self.sleep = sleep
        self.report = report
    }

    // MARK: - Reading

    /// The names of the project's entitlements and products. The first request of a rehearsal.
    ///
    /// - Throws: ``RevenueCatClientFailure``; `CancellationError` if the task is cancelled.
    package func catalogue() async throws -> RevenueCatCatalogue {
        guard
            let entitlements = try await list("entitlements", wasAccepted: false),
            let products = try await list("products")
        else { throw RevenueCatClientFailure.unknownProject(project) }
        return RevenueCatCatalogue(
            entitlements: Self.names(entitlements, "lookup_key").mapValues {
                EntitlementID(rawValue: $0)
            },
            products: Self.names(products, "store_identifier").mapValues { ProductID(rawValue: $0) }
        )
    }

    private static func names(_ entries: [JSON], _ member: String) -> [String: String] {
        var names: [String: String] = [:]
        for entry in entries {
            if let id = entry["id"]?.string, let name = entry[member]?.string { names[id] = name }
        }
        return names
    }

    /// Calls a closure for each page of the list of customers. RevenueCat's list omits some
    /// customers, and repeats others. So the caller must also look up ids from other sources.
    package func eachPageOfCustomers(
        _ body: ([CustomerID]) async throws -> Void
    ) async throws {
        var pages = Pages(path: "customers")
        for _ in 0..<Self.customerPagesMax {
            guard let page = try await next(&pages) else {
                throw RevenueCatClientFailure.unknownProject(project)
            }
            try await body(page.compactMap { $0["id"]?.string }.map { CustomerID(rawValue: $0) })
            if pages.isDone { return }
        }
        throw RevenueCatClientFailure.limitExceeded(
            what: "pages of customers", limit: Self.customerPagesMax)
    }

    /// A customer with their open entitlements. Returns nil if RevenueCat does not know the id.
    package func customer(
        _ id: CustomerID, _ catalogue: RevenueCatCatalogue
    ) async throws -> RevenueCatCustomer? {
        guard (1...Self.idBytesMax).contains(id.rawValue.utf8.count) else { return nil }
        let path = "customers/\(Self.encoded(id.rawValue))"
        guard let json = try await json(path, about: id) else { return nil }
        guard var active = json["active_entitlements"]?["items"]?.array else {
            throw RevenueCatClientFailure.unreadable("a customer without `active_entitlements`")
        }
        if json["active_entitlements"]?["next_page"]?.string != nil {
            active =
                try await list("\(path)/active_entitlements", key: "entitlement_id", of: id) ?? []
        }
        var customer = RevenueCatCustomer(id: id)
        let numbers = try Self.ids(of: active, "entitlement_id")
        for (entry, number) in zip(active, numbers) {
            // If an entitlement was created during the rehearsal, the catalogue does not contain
            // its name.
            let name = catalogue.entitlements[number] ?? EntitlementID(rawValue: number)
            customer.active.updateValue(entry["expires_at"]?.instant, forKey: name)
        }
        return customer
    }

    /// Adds the customer's ids, subscriptions and purchases.
    package func details(
        of customer: RevenueCatCustomer, _ catalogue: RevenueCatCatalogue
    ) async throws -> RevenueCatCustomer {
        let path = "customers/\(Self.encoded(customer.id.rawValue))"
        var customer = customer
        // If the customer was deleted meanwhile, the lists are empty.
        customer.aliases = try await aliases(of: customer.id)
        let subscriptions = try await list("\(path)/subscriptions", of: customer.id) ?? []
        customer.holdings =
            subscriptions.compactMap { RevenueCatHolding(subscription: $0, catalogue) }
            + (try await purchases(of: customer.id, catalogue))
        return customer
    }

    /// A customer's one-time purchases, in production and in the sandbox. Empty if RevenueCat does
    /// not know the id.
    package func purchases(
        of id: CustomerID, _ catalogue: RevenueCatCatalogue
    ) async throws -> [RevenueCatHolding] {
        let purchases = try await list("customers/\(Self.encoded(id.rawValue))/purchases", of: id)
        return (purchases ?? []).compactMap { RevenueCatHolding(purchase: $0, catalogue) }
    }

    /// All ids of a customer. Empty if RevenueCat does not know the id.
    package func aliases(of id: CustomerID) async throws -> [CustomerID] {
        let path = "customers/\(Self.encoded(id.rawValue))/aliases"
        let aliases = try await list(path, of: id) ?? []
        return aliases.compactMap { $0["id"]?.string }.map { CustomerID(rawValue: $0) }
    }

    /// A customer's balance of each virtual currency, by its code, also empty ones. Empty if
    /// RevenueCat does not know the id.
    package func balances(of id: CustomerID) async throws -> [String: Int64] {
        let path = "customers/\(Self.encoded(id.rawValue))/virtual_currencies"
        let entries = try await list(
            path, key: Self.currencyCode, of: id, query: "&include_empty_balances=true")
        var balances: [String: Int64] = [:]
        for entry in entries ?? [] {
            guard let code = entry[Self.currencyCode]?.string,
                let balance = entry["balance"]?.integer
            else { throw RevenueCatClientFailure.unreadable("a balance that is no whole number") }
            balances[code] = balance
        }
        return balances
    }

    private static let currencyCode = "currency_code"

    /// The customer who owns the subscription or the one-time purchase of a transaction at
    /// RevenueCat. Returns nil if RevenueCat does not know the transaction.
    package func owner(of transaction: TransactionID) async throws -> CustomerID? {
        let id = Self.encoded(transaction.rawValue)
        for path in [
            "subscriptions?store_subscription_identifier=\(id)",
            "purchases?store_purchase_identifier=\(id)",
        ] {
            guard let body = try await json(path) else { continue }
            guard let found = body["items"]?.array else {
                throw RevenueCatClientFailure.unreadable("a list without `items`")
            }
            let owners = try Self.ids(of: found, "customer_id")
            if let owner = owners.first { return CustomerID(rawValue: owner) }
        }
        return nil
    }

    // MARK: - Lists

    /// The position in a list that is read page by page.
    private struct Pages {
        var path: String
        /// The member that identifies an entry.
        var key = "id"
        /// The customer whom the list is about. Nil if the list is about the project.
        var customer: CustomerID?
        /// More of the query, beginning with `&`.
        var query = ""
        var limit = RevenueCatClient.pageMax
        var last: String?
        var isDone = false

        var isSmallest: Bool { limit / 2 < RevenueCatClient.pageMin }
        /// The maximum number of attempts to get a page of this size.
        var attemptsMax: Int {
            isSmallest ? RevenueCatClient.attemptsMax : RevenueCatClient.pageAttemptsMax
        }
    }

    /// All entries of a list. Returns nil if RevenueCat does not know the customer or project of
    /// the list.
    private func list(
        _ path: String, key: String = "id", of customer: CustomerID? = nil, query: String = "",
        wasAccepted: Bool = true
    ) async throws -> [JSON]? {
        var pages = Pages(path: path, key: key, customer: customer, query: query)
        var entries: [JSON] = []
        while !pages.isDone {
            guard let page = try await next(&pages, wasAccepted: wasAccepted) else { return nil }
            entries += page
            guard entries.count <= Self.listMax else {
                throw RevenueCatClientFailure.limitExceeded(
                    what: "entries of \(path)", limit: Self.listMax)
            }
        }
        return entries
    }

    /// The next page of a list. If RevenueCat does not return a page in time, requests the page
    /// again with half the size.
    private func next(_ pages: inout Pages, wasAccepted: Bool = true) async throws -> [JSON]? {
        while true {
            do {
                let start = pages.last.map { "&starting_after=\(Self.encoded($0))" } ?? ""
                let path = "\(pages.path)?limit=\(pages.limit)\(start)\(pages.query)"
                guard
                    let page = try await json(
                        path, about: pages.customer, wasAccepted: wasAccepted,
                        attemptsMax: pages.attemptsMax)
                else { return nil }
                guard let entries = page["items"]?.array else {
                    throw RevenueCatClientFailure.unreadable("a list without `items`")
                }
                let last = try Self.ids(of: entries, pages.key).last
                pages.isDone = page["next_page"]?.string == nil
                guard pages.isDone || (last != nil && last != pages.last) else {
                    throw RevenueCatClientFailure.unreadable("a list that does not go on")
                }
                pages.last = last
                return entries
            } catch RevenueCatClientFailure.unavailable(let reason) where !pages.isSmallest {
                pages.limit /= 2
                report(
                    "RevenueCat does not respond (\(reason)), attempt 1 of \(pages.attemptsMax) "
                        + "with pages of \(pages.limit)")
            }
        }
    }

    /// The ids of entries. Throws if an entry has no id, because such an entry could not be
    /// compared.
    private static func ids(of entries: [JSON], _ key: String) throws -> [String] {
        try entries.map { entry in
            guard let id = entry[key]?.string, !id.isEmpty else {
                throw RevenueCatClientFailure.unreadable("an entry of a list without `\(key)`")
            }
            return id
        }
    }

    // MARK: - Requests

    /// The body of a response. Returns nil for status 404.
    ///
    /// - Parameters:
    ///   - customer: the customer whom the request is about. The failure names this customer if
    ///     RevenueCat refuses the request.
    ///   - attemptsMax: the maximum number of attempts if RevenueCat does not respond.
    private func json(
        _ path: String, about customer: CustomerID? = nil, wasAccepted: Bool = true,
        attemptsMax: Int = attemptsMax
    ) async throws -> JSON? {
        let request = RevenueCatRequest(
            path: "/v2/projects/\(Self.encoded(project))/\(path)", authorization: authorization)
        var attempts = 1
        var waits = 0
        while true {
            let trouble: String
            do {
                let response = try await send(request)
                switch response.status {
                case 200: return try Self.parsed(response)
                case 401: throw RevenueCatClientFailure.keyRefused(wasAccepted: wasAccepted)
                case 403: throw RevenueCatClientFailure.forbidden(what: Self.subject(of: path))
                case 404 where try Self.isOfRevenueCat(response): return nil
                case 429 where waits < Self.rateLimitsMax:
                    waits += 1
                    try await sleep(.seconds(Self.pause(response.retryAfter)))
                    continue
                case 408, 423, 429, 500...599: trouble = "status \(response.status)"
                case 400...499 where response.status != 404:
                    throw RevenueCatClientFailure.refused(
                        customer: customer, answer: Self.quoted(response))
                default: return try Self.refuse(response)
                }
            } catch let failure as RevenueCatClientFailure {
                guard case .unavailable(let reason) = failure else { throw failure }
                trouble = reason
            } catch is CancellationError {
                throw CancellationError()
            } catch { trouble = "\(error)" }
            guard attempts < attemptsMax else { throw RevenueCatClientFailure.unavailable(trouble) }
            let pause = Self.errorPauses.delay(after: attempts)
            attempts += 1
            report(
                "RevenueCat does not respond (\(trouble)), attempt \(attempts) of \(attemptsMax)")
            try await sleep(pause)
        }
    }

    /// The number of seconds to wait after a response with status 429.
    static func pause(_ retryAfter: String?) -> Int64 {
        guard let seconds = retryAfter.flatMap({ Int64($0) }), seconds >= 0 else {
            return pauseSeconds
        }
        return min(max(1, seconds), pauseSecondsMax)
    }

    private static func parsed(_ response: RevenueCatResponse) throws -> JSON {
        guard response.body.count <= RevenueCatResponse.bodyBytesMax else {
            throw RevenueCatClientFailure.unreadable(
                "it has more than \(RevenueCatResponse.bodyBytesMax) bytes")
        }
        guard let json = try? JSON(parsing: response.body), json.members != nil else {
            return try refuse(response)
        }
        return json
    }

    /// Whether RevenueCat itself sent a response with status 404. Another server, at a wrong
    /// address, may also respond 404.
    private static func isOfRevenueCat(_ response: RevenueCatResponse) throws -> Bool {
        try parsed(response)["type"]?.string == "resource_missing"
    }

    private static func refuse<Value>(_ response: RevenueCatResponse) throws -> Value {
        throw RevenueCatClientFailure.unreadable(quoted(response))
    }

    /// The status of a response, followed by RevenueCat's own message. If there is no message, the
    /// first characters of the body follow.
    private static func quoted(_ response: RevenueCatResponse) -> String {
        let json = try? JSON(parsing: response.body)
        let text =
            json?["message"]?.string.map { String($0.prefix(messageMax)) }
            ?? String(decoding: response.body.prefix(quotedMax), as: UTF8.self)
        let words = text.split(whereSeparator: \.isWhitespace).joined(separator: " ")
        return "status \(response.status)" + (words.isEmpty ? "" : ", “\(words)”")
    }

    private static func subject(of path: String) -> String {
        ["customers", "subscriptions", "purchases"].contains { path.hasPrefix($0) }
            ? "customers" : "the project's configuration"
    }

    /// Text as a part of a path. Also encodes the dots of `.` and `..`, which would change a path.
    static func encoded(_ text: String) -> String {
        text == "." || text == ".."
            ? String(repeating: "%2E", count: text.utf8.count) : PercentEncoder.text(text)
    }
}
