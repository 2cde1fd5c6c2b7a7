import AppStoreFormats
import Hummingbird
import Testing

@testable import Simulator

/// Every route responds as its OpenAPI description says. The client of a stage checks each response
/// of each test against its schema; this suite checks that no route is left out.
@Suite struct AnswerSchemaTests {
    /// A call that succeeds. In its path, `{pro}` stands for the transaction that was saved as
    /// `pro`.
    private struct Call: Sendable {
        let path: String
        var body: String?
        var keeps: String?

        init(_ path: String, _ body: String? = nil, keeps: String? = nil) {
            self.path = "/_sim/" + path
            self.body = body
            self.keeps = keeps
        }

        /// The calls that change anna's subscription.
        static func does(_ verb: String, _ body: String = "{}") -> Self {
            Self("subscriptions/anna:pro.monthly/\(verb)", body)
        }

        static func buys(_ body: String, keeps: String? = nil) -> Self {
            Self("devices/anna-1/purchases", body, keeps: keeps)
        }

        static func passes(_ duration: String) -> Self {
            Self("clock", #"{"advance":"\#(duration)"}"#)
        }
    }

    private static let beginning: [Call] = [
        Call("reset", #"{"v1_notification_url":"http://box/v1"}"#), Call("health"),
        Call("openapi.json"), Call("clock"), Call("habits"), Call("scenarios"), Call("faults"),
        Call("api-key"), Call("api-token"), Call("consumption"), Call("report-token"),
        Call("books?from=2026-01-10&to=2026-01-10"),
        Call("devices", #"{"account":"anna"}"#), Call("devices", #"{"account":"ben"}"#),
        Call("devices/ben-1/account", #"{"account":"ben"}"#),
        Call("families/cats/join", #"{"account":"anna"}"#),
        Call("families/cats/join", #"{"account":"ben"}"#),
        Call("products?device=anna-1"), Call("products?ids=gem,none"),
    ]

    private static let purchases: [Call] = [
        .buys(#"{"product_id":"pro.monthly","offer":"none"}"#, keeps: "pro"),
        .buys(#"{"product_id":"gem"}"#, keeps: "gem"),
        .buys(#"{"product_id":"book"}"#, keeps: "book"),
        .buys(#"{"product_id":"gem","choice":"cancel"}"#),
        .buys(#"{"product_id":"gem","choice":"fail"}"#),
        .buys(#"{"product_id":"gem","choice":"ask"}"#, keeps: "wish"),
        Call("truth/anna"), Call("transactions/{wish}/approve", "{}"),
        .buys(#"{"product_id":"gem","choice":"ask"}"#, keeps: "whim"),
        Call("transactions/{whim}/decline", "{}"), Call("devices/anna-1/transactions"),
        Call("devices/anna-1/entitlements"), Call("devices/anna-1/unfinished"),
        Call("devices/anna-1/statuses"), Call("devices/anna-1/app-transaction"),
        Call("devices/anna-1/storefront"), Call("devices/anna-1/receipt"),
        Call("devices/anna-1/restore", "{}"), Call("transactions/{gem}"),
        Call("transactions/{gem}/receipt"),
        Call("devices/anna-1/transactions/{gem}/finish", "{}"),
        Call("devices/anna-1/network", #"{"state":"slow","slow_seconds":0}"#),
        Call("devices/anna-1/errors", #"{"sync":"unknown","verification":"invalid_signature"}"#),
        Call("devices/anna-1/unfinished"), Call("devices/anna-1/statuses"),
        Call("devices/anna-1/errors", #"{"sync":null,"verification":null}"#),
        Call("devices/anna-1/next-sheet", #"{"choice":"confirm"}"#),
        Call("devices/anna-1/sync", "{}"), Call("devices/anna-1/app-transaction/refresh", "{}"),
        Call("devices/anna-1/let-go", "{}"), Call("devices/anna-1/prompts?count=2"),
    ]

    private static let lives: [Call] = [
        Call("devices/ben-1"), Call("devices/ben-1/clock"),
        Call("devices/ben-1/clock", #"{"back":"P1D"}"#), Call("devices/ben-1/reboot", "{}"),
        Call("devices/ben-1/app"), Call("devices/ben-1/app", #"{"version":"2.0"}"#),
        Call("devices/ben-1/launch", "{}"),
        Call("devices/ben-1/settings", #"{"calendar":"buddhist"}"#),
        Call("devices/ben-1/habits", #"{"stale_statuses":true}"#),
        Call("devices/ben-1/products"), Call("devices/ben-1/messages"),
        Call("devices/ben-1/messages", "{}"),
        Call("devices/ben-1/messages/generic-1/display", "{}"),
        Call("devices/ben-1/purchase-intents", #"{"product_id":"gem"}"#),
        Call("devices/ben-1/purchase-intents"),
        Call("devices/ben-1/purchase-intents/intent-2/take", "{}"),
        Call("devices/anna-1/manage-subscriptions", "{}"),
        Call("devices/anna-1/refund-request", #"{"transaction_id":"{gem}","choice":"cancel"}"#),
        Call("devices/anna-1/redeem-code", "{}"), Call("devices/ben-1/sign-out", "{}"),
        Call("devices/ben-1"), Call("devices/ben-1/account", #"{"account":"ben"}"#),
    ]

    private static let turns: [Call] = [
        .does("raise-price", #"{"price":"12.99"}"#), .does("consent"),
        .does("extend", #"{"days":7}"#), .does("change-product", #"{"product_id":"basic"}"#),
        .does("change-product", #"{"product_id":"pro.monthly"}"#), .does("cancel"),
        .does("resume"), .does("renew-now"),
        .does("request-refund", #"{"decision":"declined"}"#), .does("resume"),
        .does("advanced-commerce", #"{"type":"MIGRATION"}"#), .does("fail-billing"),
        .passes("P3M"), Call("truth/anna"), .does("recover-billing"), .does("refund"),
        .does("reverse-refund"), .does("stop-sharing"), .passes("P3M"), Call("truth/anna"),
        Call("truth/ben"), .does("win-back"), .does("fail-billing"), .passes("P40D"),
        Call("transactions/{pro}/resolve", "{}"),
        .does("redeem-code", #"{"offer":"ANYCAT"}"#),
        .does("raise-price", #"{"price":"19.99"}"#), .does("decline"), .does("resume"),
        .does("expire"),
    ]

    private static let rest: [Call] = [
        Call("devices", #"{"account":"cleo"}"#),
        Call(
            "devices/cleo-1/purchases",
            #"{"product_id":"pro.yearly","billing_plan":"MONTHLY","offer":"none"}"#),
        Call("truth/cleo"),
        Call("transactions/{gem}/request-refund", #"{"decision":"declined"}"#),
        Call("transactions/{gem}/refund", #"{"type":"prorated","percentage":50}"#),
        Call("transactions/{gem}/reverse-refund", "{}"),
        Call("transactions/{book}/stop-sharing", "{}"),
        Call("families/cats/leave", #"{"account":"ben"}"#),
        Call(
            "faults",
            #"{"notifications":{"forged":1,"outage":{"days":2},"delay_seconds":{"max":5}},"#
                + #""api":{"slow":0.5},"devices":{"empty_read":0.1},"#
                + #""next":{"notifications":"drop","api":["error"],"devices":"latest_twice"}}"#),
        Call("notifications", #"{"type":"TEST"}"#), Call("notifications", #"{"type":"TEST"}"#),
        Call("faults"), Call("verify-receipt", #"{"status":21005,"times":2}"#),
        Call("populations", #"{"accounts":3,"within":"P1M"}"#), Call("scenarios/refund", "{}"),
        Call("subscriptions/cleo:pro.yearly/remove-from-sale", "{}"), .passes("P5D"),
        Call("notifications"), Call("log"),
    ]

    private static let seats: [Call] = [
        Call("reset", #"{"multi_seat":{"basic":{"tiers":[{"from":2,"price":"3.99"}]}}}"#),
        Call("devices", #"{"account":"anna"}"#), Call("devices", #"{"account":"ben"}"#),
        Call("devices/anna-1/products"), .buys(#"{"product_id":"basic","seats":3}"#),
        Call("seats", #"{"invitations":"apple","sold":{"basic":true}}"#),
        Call("subscriptions/anna:basic/join-group", #"{"account":"ben"}"#),
        Call("subscriptions/anna:basic/leave-group", #"{"account":"ben"}"#),
        Call("subscriptions/anna:basic/change-seats", #"{"seats":2}"#),
        Call("subscriptions/anna:basic/refund", #"{"seats":1}"#), Call("truth/anna"),
        Call("organizations/acme/assign", #"{"account":"ben","product_id":"basic"}"#),
        Call("organizations/acme/unassign", #"{"account":"ben","product_id":"basic"}"#),
    ]

    @Test func `every route of the simulator responds as its OpenAPI description says`()
        async throws
    {
        try await Stage(shop: try CatShop.file()).withClient { client in
            var kept: [String: String] = [:]
            var called: Set<String> = []
            for call in Self.beginning + Self.purchases + Self.lives + Self.turns + Self.rest
                + Self.seats
            {
                var (path, body) = (call.path, call.body)
                for (name, id) in kept {
                    path = path.replacing("{\(name)}", with: id)
                    body = body?.replacing("{\(name)}", with: id)
                }
                let answer = try await client.json(path, body)
                if let name = call.keeps { kept[name] = answer["transaction_id"]?.string }
                let method: HTTPRequest.Method = call.body == nil ? .get : .post
                let route = DescribedAnswers.shared.route(method, path)
                called.insert(try require(route, "\(path) is no route").name)
            }
            for route in SimulatorRoute.all {
                guard case .json = route.shape else { continue }
                #expect(called.contains(route.name), "\(route.name) is never called")
            }
        }
    }

    @Test func `a response that differs from its schema is detected`() throws {
        func differences(_ text: String) throws -> [String] {
            try DescribedAnswers.shared.differences(.get, "/_sim/clock", status: 200, text)
        }
        let now = #""now":"2026-01-10T20:00:00.000Z""#
        #expect(try differences(#"{\#(now),"rate":0}"#).isEmpty)
        for wrong in [
            "[]", #"{\#(now)}"#, #"{\#(now),"rate":"0"}"#, #"{"now":"today","rate":0}"#,
            #"{\#(now),"rate":0,"more":1}"#,
        ] {
            #expect(try differences(wrong).count == 1, "\(wrong)")
        }
    }

    @Test func `every reference in the OpenAPI document of the simulator has a target`() throws {
        let text = OpenAPI.document.text
        let references = Set(text.matches(of: #/"\$ref":"([^"]+)"/#).map { String($0.1) })
        #expect(references.count > 20)
        for reference in references {
            #expect(DescribedAnswers.shared.target(of: reference) != nil, "\(reference)")
        }
        let names = OpenAPI.schemas.map(\.name)
        #expect(Set(names).count == names.count)
        // Every schema is used by a route.
        #expect(Set(names.map { "#/components/schemas/\($0)" }) == references)
    }
}

extension SimulatorRoute {
    fileprivate var name: String { "\(method.rawValue) \(path)" }
}
