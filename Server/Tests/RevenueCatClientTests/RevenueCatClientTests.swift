import AppStoreFormats
import Ledger
import Rehearsal
import Synchronization
import Testing

@testable import RevenueCatClient

/// Reads scripted responses.
@Suite struct RevenueCatClientTests {
    /// A server that gives the next response of a script, and remembers what was requested.
    private final class Script: Sendable {
        private let state: Mutex<(responses: [RevenueCatResponse], paths: [String], slept: [Int64])>
        private let lines = Mutex<[String]>([])

        init(_ responses: [RevenueCatResponse]) { state = Mutex((responses, [], [])) }

        var paths: [String] { state.withLock { $0.paths } }
        var slept: [Int64] { state.withLock { $0.slept } }
        var reported: [String] { lines.withLock { $0 } }

        var client: RevenueCatClient {
            RevenueCatClient(project: "proj1", key: "sk_1") { request in
                #expect(request.authorization == "Bearer sk_1")
                return try self.state.withLock { state in
                    state.paths.append(
                        String(request.path.dropFirst("/v2/projects/proj1/".count)))
                    guard !state.responses.isEmpty else { throw Ended() }
                    return state.responses.removeFirst()
                }
            } sleep: { pause in
                self.state.withLock { $0.slept.append(pause.components.seconds) }
            } report: { line in
                self.lines.withLock { $0.append(line) }
            }
        }
    }

    private struct Ended: Error {}

    private static func json(_ json: JSON, status: Int = 200) -> RevenueCatResponse {
        RevenueCatResponse(status: status, body: json.bytes)
    }

    private static func list(_ items: [JSON], next: String? = nil) -> RevenueCatResponse {
        json(["items": .array(items), "next_page": next.map { .string($0) } ?? .null])
    }

    private static let missing = json(["type": "resource_missing"], status: 404)
    private static let catalogue = RevenueCatCatalogue(
        entitlements: ["entl1": "pro"], products: ["prod1": "pro.monthly"])

    @Test func `the catalogue has the names of entitlements and products`() async throws {
        let script = Script([
            Self.list([["id": "entl1", "lookup_key": "pro"]]),
            Self.list([["id": "prod1", "store_identifier": "pro.monthly"]]),
        ])
        #expect(try await script.client.catalogue() == Self.catalogue)
        #expect(script.paths == ["entitlements?limit=100", "products?limit=100"])
    }

    @Test func `balances are read page by page, include zero, and must be whole numbers`()
        async throws
    {
        func entry(_ code: String, _ balance: JSON) -> JSON {
            ["currency_code": .string(code), "balance": balance]
        }
        let script = Script([
            Self.list([entry("GOLD", 0)], next: "more"), Self.list([entry("SEED", 120)]),
            Self.missing, Self.list([entry("SEED", "120")]),
        ])
        #expect(try await script.client.balances(of: "a/b") == ["GOLD": 0, "SEED": 120])
        let path = "customers/a%2Fb/virtual_currencies?limit=100"
        let more = "&include_empty_balances=true"
        #expect(script.paths == [path + more, path + "&starting_after=GOLD" + more])
        #expect(try await script.client.balances(of: "ben").isEmpty)
        await #expect(throws: RevenueCatClientFailure.self) {
            try await script.client.balances(of: "cleo")
        }
    }

    @Test func `a customer has open entitlements, ids, subscriptions and purchases`() async throws {
        let script = Script([
            Self.json([
                "active_entitlements": [
                    "items": [
                        ["entitlement_id": "entl1", "expires_at": 1_790_000_000_000],
                        ["entitlement_id": "entl2", "expires_at": .null],
                    ]
                ]
            ]),
            Self.list([["id": "a/b"], ["id": "anna"]]),
            Self.list([
                [
                    "id": "sub1", "product_id": "prod1", "store": "app_store",
                    "environment": "production",
                    "ownership": "purchased", "gives_access": true, "status": "in_grace_period",
                    "auto_renewal_status": "will_renew", "store_subscription_identifier": "20",
                    "current_period_ends_at": 1_790_000_000_000,
                    "entitlements": ["items": [["lookup_key": "pro"]]],
                    "total_revenue_in_usd": ["gross": 1],
                ]
            ]),
            Self.list([]),
        ])
        let client = script.client
        let known = try #require(try await client.customer("a/b", Self.catalogue))
        let customer = try await client.details(of: known, Self.catalogue)
        #expect(customer.aliases == ["a/b", "anna"])
        let end = Instant(milliseconds: 1_790_000_000_000)
        #expect(customer.active == ["pro": end, "entl2": nil])
        #expect(
            customer.opinion(of: "pro", in: .production, knowing: [])
                == RehearsalOpinion(
                    isOpen: true, until: end, willRenew: true, product: "pro.monthly",
                    isFamilyShared: false, transaction: "20", billing: .grace))
        #expect(customer.holdings[0].text.contains("in_grace_period"))
        #expect(!customer.holdings[0].text.contains("gross"))
        #expect(script.paths[0] == "customers/a%2Fb")
        #expect(script.paths[2] == "customers/a%2Fb/subscriptions?limit=100")
    }

    @Test func `an unknown customer is returned as nil`() async throws {
        let script = Script([Self.missing])
        #expect(try await script.client.customer("nobody", Self.catalogue) == nil)
    }

    @Test func `a list is read page by page, even if it repeats customers`() async throws {
        let script = Script([
            Self.list([["id": "a"], ["id": "b"]], next: "/v2/projects/proj1/customers?x"),
            Self.list([["id": "a"], ["id": "c+d"]], next: "/v2/projects/proj1/customers?y"),
            Self.list([]),
        ])
        var pages: [[CustomerID]] = []
        try await script.client.eachPageOfCustomers { pages.append($0) }
        #expect(pages == [["a", "b"], ["a", "c+d"], []])
        #expect(script.paths[1] == "customers?limit=100&starting_after=b")
        #expect(script.paths[2] == "customers?limit=100&starting_after=c%2Bd")
    }

    @Test func `after a page times out, pages of half the size are requested`() async throws {
        let failure = RevenueCatResponse(status: 504)
        let script = Script([
            failure, failure, Self.list([["id": "a"]], next: "more"), Self.list([["id": "b"]]),
        ])
        try await script.client.eachPageOfCustomers { _ in }
        #expect(script.paths[1] == "customers?limit=100")
        #expect(script.paths[2] == "customers?limit=50")
        #expect(script.paths[3] == "customers?limit=50&starting_after=a")
        #expect(
            script.reported == [
                "RevenueCat does not respond (status 504), attempt 2 of 2",
                "RevenueCat does not respond (status 504), attempt 1 of 2 with pages of 50",
            ])
    }

    @Test func `a list whose next page repeats the previous page is an error`() async throws {
        let page = Self.list([["id": "a"]], next: "more")
        let script = Script([page, page])
        await #expect(throws: RevenueCatClientFailure.unreadable("a list that does not go on")) {
            try await script.client.eachPageOfCustomers { _ in }
        }
    }

    @Test func `the owner is looked up in subscriptions, then in one-time purchases`() async throws
    {
        let script = Script([
            Self.list([]), Self.list([["id": "purc1", "customer_id": "anna"]]), Self.missing,
            Self.missing,
        ])
        #expect(try await script.client.owner(of: "7") == "anna")
        #expect(try await script.client.owner(of: "8") == nil)
        #expect(script.paths[0] == "subscriptions?store_subscription_identifier=7")
        #expect(script.paths[1] == "purchases?store_purchase_identifier=7")
    }

    @Test func `a customer id that consists of dots cannot lead to another path`() async throws {
        let script = Script([Self.missing, Self.missing])
        for id in ["", ".", ".."] as [CustomerID] {
            #expect(try await script.client.customer(id, Self.catalogue) == nil)
        }
        #expect(script.paths == ["customers/%2E", "customers/%2E%2E"])
    }

    @Test func `Retry-After is respected, up to a limit`() async throws {
        let script = Script([
            RevenueCatResponse(status: 429, retryAfter: "7"),
            RevenueCatResponse(status: 429, retryAfter: "100000"),
            RevenueCatResponse(status: 429), Self.missing,
        ])
        #expect(try await script.client.customer("anna", Self.catalogue) == nil)
        #expect(script.slept == [7, RevenueCatClient.pauseSecondsMax, 10])
    }

    @Test func `a request without a response is repeated up to the limit`() async throws {
        let script = Script([])
        await #expect(throws: RevenueCatClientFailure.self) {
            try await script.client.customer("anna", Self.catalogue)
        }
        #expect(script.paths.count == RevenueCatClient.attemptsMax)
        #expect(script.slept == [1, 2, 4, 8, 16])
        #expect(script.reported.count == 5)
        #expect(script.reported.last == "RevenueCat does not respond (Ended()), attempt 6 of 6")
    }

    struct Refusal: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var response: RevenueCatResponse
        var failure: RevenueCatClientFailure
    }

    static let refusals = [
        Refusal(
            testDescription: "401", response: .init(status: 401),
            failure: .keyRefused(wasAccepted: true)),
        Refusal(
            testDescription: "403", response: .init(status: 403),
            failure: .forbidden(what: "customers")),
        Refusal(
            testDescription: "400 with a message",
            response: json(["type": "parameter_error", "message": "Bad id."], status: 400),
            failure: .refused(customer: "anna", answer: "status 400, “Bad id.”")),
        Refusal(
            testDescription: "422 without a message", response: .init(status: 422),
            failure: .refused(customer: "anna", answer: "status 422")),
        Refusal(
            testDescription: "HTML", response: .init(status: 200, body: Array("<html>\n x".utf8)),
            failure: .unreadable("status 200, “<html> x”")),
        Refusal(
            testDescription: "404 of a proxy",
            response: .init(status: 404, body: Array("<html>".utf8)),
            failure: .unreadable("status 404, “<html>”")),
        Refusal(
            testDescription: "a redirect", response: .init(status: 302),
            failure: .unreadable("status 302")),
        Refusal(
            testDescription: "JSON that ends early",
            response: .init(status: 200, body: Array(#"{"id": "#.utf8)),
            failure: .unreadable(#"status 200, “{"id":”"#)),
        Refusal(
            testDescription: "too large",
            response: .init(
                status: 200,
                body: Array(repeating: 32, count: RevenueCatResponse.bodyBytesMax + 1)),
            failure: .unreadable("it has more than 4194304 bytes")),
        Refusal(
            testDescription: "no entitlements", response: json([:]),
            failure: .unreadable("a customer without `active_entitlements`")),
        Refusal(
            testDescription: "an entitlement without an id",
            response: json(["active_entitlements": ["items": [["expires_at": .null]]]]),
            failure: .unreadable("an entry of a list without `entitlement_id`")),
    ]

    @Test(arguments: refusals)
    func `a bad response is a failure with a remedy`(refusal: Refusal) async throws {
        let script = Script([refusal.response])
        await #expect(throws: refusal.failure) {
            try await script.client.customer("anna", Self.catalogue)
        }
        #expect(!refusal.failure.remedy.isEmpty)
    }

    @Test func `a refusal names the customer, and says what RevenueCat says`() {
        let failure = RevenueCatClientFailure.refused(
            customer: "anna", answer: "status 400, “Bad id.”")
        #expect(
            failure.description
                == "RevenueCat refuses a request about customer “anna”: status 400, “Bad id.”.")
    }

    static let badLists = [
        Refusal(
            testDescription: "an empty page before another one",
            response: list([], next: "more"), failure: .unreadable("a list that does not go on")),
        Refusal(
            testDescription: "an entry without an id", response: list([["name": "a"]]),
            failure: .unreadable("an entry of a list without `id`")),
        Refusal(
            testDescription: "an empty id", response: list([["id": "a"], ["id": ""]]),
            failure: .unreadable("an entry of a list without `id`")),
    ]

    @Test(arguments: badLists)
    func `a malformed list is an error, not a shorter list`(refusal: Refusal) async throws {
        await #expect(throws: refusal.failure) {
            try await Script([refusal.response]).client.eachPageOfCustomers { _ in }
        }
    }

    @Test func `a key that is refused at once and an unknown project are errors`() async throws {
        await #expect(throws: RevenueCatClientFailure.keyRefused(wasAccepted: false)) {
            try await Script([.init(status: 401)]).client.catalogue()
        }
        await #expect(throws: RevenueCatClientFailure.unknownProject("proj1")) {
            try await Script([Self.missing]).client.catalogue()
        }
    }

    @Test func `a closed entitlement names only a purchase that gives it`() throws {
        var customer = RevenueCatCustomer(id: "anna")
        customer.holdings = [
            try #require(
                RevenueCatHolding(
                    subscription: [
                        "store": "app_store", "store_subscription_identifier": "1",
                        "entitlements": ["items": [["lookup_key": "plus"]]],
                    ], Self.catalogue))
        ]
        let opinion = { customer.opinion(of: $0, in: .production, knowing: ["1"]) }
        #expect(opinion("plus").transaction == "1")
        #expect(opinion("pro") == .none)
    }

    @Test func `an entitlement is attributed to the purchase that ends at the same time`() throws {
        var customer = RevenueCatCustomer(id: "anna")
        let end = Instant(milliseconds: 1_790_000_000_000)
        customer.active = ["pro": end]
        func holding(_ store: String, until: Int64, sandbox: Bool = false) throws
            -> RevenueCatHolding
        {
            try #require(
                RevenueCatHolding(
                    subscription: [
                        "store": .string(store), "gives_access": true,
                        "environment": sandbox ? "sandbox" : "production",
                        "current_period_ends_at": .integer(until),
                        "entitlements": ["items": [["id": "entl1"]]],
                    ], Self.catalogue))
        }
        let apple = try holding("app_store", until: end.milliseconds - 1)
        let bases: [(RevenueCatHolding, RehearsalOpinion.Basis)] = [
            (try holding("promotional", until: end.milliseconds), .grant),
            (try holding("play_store", until: end.milliseconds), .otherStore("play_store")),
            (try holding("app_store", until: end.milliseconds, sandbox: true), .sandbox),
            (try holding("mac_app_store", until: end.milliseconds), .payment),
        ]
        for (holding, basis) in bases {
            for holdings in [[apple, holding], [holding, apple]] {
                customer.holdings = holdings
                #expect(customer.opinion(of: "pro", in: .production, knowing: []).basis == basis)
            }
        }
        customer.holdings = [bases[2].0]
        #expect(customer.opinion(of: "pro", in: .sandbox, knowing: []).basis == .payment)
        customer.holdings = []
        #expect(customer.opinion(of: "pro", in: .production, knowing: []).basis == .nothing)
    }
}
