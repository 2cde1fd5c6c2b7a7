import AppStoreFormats
import Foundation
import Testing

@testable import Simulator

/// The verbs over HTTP: how bodies are read, and what the responses show.
@Suite struct VerbRouteTests {
    struct Call: Sendable, CustomTestStringConvertible {
        let verb: String
        var body = "{}"
        /// The expected members of the last notification.
        let type: JSON
        /// The expected members of the purchase in the response.
        var purchase: [String: JSON] = [:]

        var testDescription: String { "\(verb) \(body)" }
    }

    /// The calls of verbs, which run in this order on one subscription.
    static let calls = [
        Call(
            verb: "raise-price", body: #"{"price":"12.99","at":"2026-02-10T20:00:00Z"}"#,
            type: "PRICE_INCREASE", purchase: ["next_price_milliunits": 12_990]),
        Call(verb: "consent", type: "PRICE_INCREASE"),
        Call(
            verb: "raise-price", body: #"{"price":13.5,"consent":false}"#, type: "PRICE_INCREASE",
            purchase: ["next_price_milliunits": 13_500]),
        Call(
            verb: "extend", body: #"{"days":7,"reason":3}"#, type: "RENEWAL_EXTENDED",
            purchase: ["until": "2026-02-17T20:00:00.000Z", "extensions": 1]),
        Call(
            verb: "change-product", body: #"{"product_id":"plus.monthly"}"#,
            type: "DID_CHANGE_RENEWAL_PREF", purchase: ["renews_to": "plus.monthly"]),
        Call(
            verb: "change-product", body: #"{"product_id":"pro.monthly"}"#,
            type: "DID_CHANGE_RENEWAL_PREF", purchase: ["renews_to": "pro.monthly"]),
        Call(
            verb: "request-refund", body: #"{"reason":"LEGAL","decision":"declined"}"#,
            type: "REFUND_DECLINED", purchase: ["will_renew": false]),
        Call(verb: "resume", type: "DID_CHANGE_RENEWAL_STATUS", purchase: ["will_renew": true]),
        Call(verb: "advanced-commerce", body: #"{"type":"MIGRATION"}"#, type: "MIGRATION"),
        Call(
            verb: "advanced-commerce", body: #"{"type":"PRICE_CHANGE","price":"14"}"#,
            type: "PRICE_CHANGE", purchase: ["next_price_milliunits": 14_000]),
        Call(
            verb: "refund", body: #"{"type":"prorated","percentage":12.5,"reason":1}"#,
            type: "REFUND", purchase: ["state": "refunded", "revoked": true]),
    ]

    @Test func `each verb of the simulator reads its body and shows its effect`() async throws {
        let stage = try Stage()
        try await stage.buy("pro.monthly")
        try await stage.withClient { client in
            for call in Self.calls {
                let path = "/_sim/subscriptions/anna:pro.monthly/\(call.verb)"
                let answer = try await client.json(path, call.body)
                let last = answer["notifications"]?.array?.last
                #expect(last?["type"] == call.type, "\(call)")
                for (name, expected) in call.purchase {
                    #expect(answer["purchase"]?[name] == expected, "\(call): \(name)")
                }
            }
            let truth = try await client.json("/_sim/truth/anna")
            let charge = truth["purchases"]?.array?.first?["charges"]?.array?.first
            #expect(charge?["refunded_milliunits"] == 1248)
        }
        let last = try require(try await stage.letters().last, "no letter").transaction
        // The subscription was migrated to Advanced Commerce before: its item names the refunded
        // amount.
        #expect(last.revocationPercentage == nil && last.revocationReason == .issueWithTheApp)
        let refund = last.advancedCommerceInfo?.items?.first?.refunds?.first
        #expect(refund?.refundAmount == 1248 && refund?.refundType == "PRORATED")
    }

    @Test(arguments: [
        ("raise-price", #"{"price":"12,99"}"#), ("raise-price", "{}"),
        ("raise-price", #"{"price":true}"#), ("extend", #"{"days":0}"#), ("extend", "{}"),
        ("extend", #"{"days":5,"reason":4}"#), ("refund", #"{"type":"half"}"#),
        ("refund", #"{"percentage":101}"#), ("refund", #"{"reason":2}"#),
        ("request-refund", #"{"reason":"WHY"}"#), ("request-refund", #"{"decision":"maybe"}"#),
        ("change-product", "{}"), ("advanced-commerce", "{}"),
    ])
    func `an invalid body is refused`(verb: String, body: String) async throws {
        let stage = try Stage()
        let id = try await stage.buy("pro.monthly").originalTransactionID
        try await stage.withClient { client in
            let path = "/_sim/subscriptions/\(id)/\(verb)"
            let problem = try await client.json(path, body, status: 400)
            #expect(problem["code"] == "bad_request")
            #expect(problem["remedy"]?.string?.isEmpty == false)
        }
        #expect(await stage.simulator.notifications.count == 1)
    }

    @Test
    func `an account and a product identify the account's own purchase, unless ambiguous`()
        async throws
    {
        let stage = try Stage(shop: try CatShop.file())
        for name in ["anna", "ben"] {
            try await stage.simulator.addDevice(account: name, family: "cats")
        }
        let name = "anna:pro.monthly"
        let own = try await stage.buy("pro.monthly").originalTransactionID
        try await stage.buy("pro.monthly", on: "ben-1")
        #expect(try await stage.simulator.groundTruth(of: "anna").purchases.count == 2)
        #expect(try await stage.simulator.originalTransactionID(named: name) == own)
        let device = try await stage.simulator.addDevice(account: "anna", environment: .sandbox)
        let other = try await stage.buy("pro.monthly", on: device).originalTransactionID
        try await stage.withClient { client in
            let path = "/_sim/subscriptions/\(name)/cancel"
            let problem = try await client.json(path, "", status: 409)
            #expect(problem["code"] == "ambiguous_subscription")
            let remedy = problem["remedy"]?.string ?? ""
            #expect(remedy.contains(own) && remedy.contains(other))
        }
    }

    @Test func `notifications without a purchase are sent on request`() async throws {
        let stage = try Stage()
        try await stage.simulator.addDevice(account: "anna")
        let bodies = [
            #"{"type":"TEST","environment":"sandbox"}"#,
            #"{"type":"EXTERNAL_PURCHASE_TOKEN","subtype":"CREATED","token_type":"SERVICES"}"#,
            #"{"type":"RESCIND_CONSENT","account":"anna"}"#,
        ]
        try await stage.withClient { client in
            for body in bodies { _ = try await client.json("/_sim/notifications", body) }
            let unknown = #"{"type":"RESCIND_CONSENT","account":"zoe"}"#
            _ = try await client.json("/_sim/notifications", unknown, status: 404)
            _ = try await client.json("/_sim/notifications", "{}", status: 400)
        }
        let types = try await stage.story()
        #expect(types == ["TEST", "EXTERNAL_PURCHASE_TOKEN/CREATED", "RESCIND_CONSENT"])
        let letters = try await stage.letters()
        #expect(letters[1].notification.externalPurchaseToken?.tokenType == "SERVICES")
        let signed = letters[2].notification.appData?.signedAppTransactionInfo
        let app = try decode(AppTransactionPayload.self, require(signed, "no app transaction"))
        #expect(app.bundleId == ExampleShop.bundleID)
    }

    @Test func `a reset can set habits and a pace, which the world then reports`() async throws {
        let stage = try Stage()
        try await stage.withClient { client in
            let body = #"{"habits":{"expired_never_sent":true},"sandbox_renewal_minutes":60}"#
            _ = try await client.json("/_sim/reset", body)
            let habits = try await client.json("/_sim/habits")["habits"]?.array ?? []
            #expect(habits.count == Quirk.allCases.count)
            let on = habits.filter { $0["on"] == true }.map { $0["name"] }
            #expect(on == ["expired_never_sent"])
            for unknown in [#"{"habits":{"x":true}}"#, #"{"sandbox_renewal_minutes":4}"#] {
                _ = try await client.json("/_sim/reset", unknown, status: 400)
            }
            _ = try await client.json("/_sim/reset", #"{"habits":{"expired_never_sent":false}}"#)
        }
        #expect(await stage.simulator.settings.quirks.isEmpty)
        #expect(await stage.simulator.settings.sandboxPace == .monthly(.oneHour))
    }

    @Test(arguments: [
        (#""testflight":true"#, "2026-01-11T20:00:00Z"),
        (#""renewal_minutes":3"#, "2026-01-10T20:03:00Z"),
        (#""renewal_minutes":30"#, "2026-01-10T20:30:00Z"),
    ])
    func `a device in the sandbox can have a separate renewal rate`(field: String, end: String)
        async throws
    {
        let stage = try Stage()
        try await stage.withClient { client in
            let body = #"{"account":"anna","environment":"sandbox",\#(field)}"#
            _ = try await client.json("/_sim/devices", body)
        }
        try await stage.buy("pro.monthly")
        #expect(try await stage.truth().until == moment(end))
    }

    @Test
    func `docs/simulator.md lists every habit, and docs/lifecycle.md lists every row of the table`()
        throws
    {
        let docs = (1...4).reduce(URL(filePath: #filePath)) { url, _ in
            url.deletingLastPathComponent()
        }.appending(path: "docs")
        let guide = try String(contentsOf: docs.appending(path: "simulator.md"), encoding: .utf8)
        for habit in Quirk.allCases { #expect(guide.contains("| `\(habit.rawValue)` |")) }
        let turns = try String(contentsOf: docs.appending(path: "lifecycle.md"), encoding: .utf8)
        let named = turns.split(separator: "\n").flatMap { line -> [Int] in
            let cell = line.split(separator: "|").first ?? ""
            let numbers = cell.split { !$0.isNumber }.compactMap { Int($0) }
            // `37 to 39` also names the numbers in between.
            guard cell.contains("to"), let first = numbers.first, let last = numbers.last else {
                return numbers
            }
            return Array(first...last)
        }
        #expect(named.sorted() == LifecycleRow.allCases.map(\.rawValue))
    }
}
