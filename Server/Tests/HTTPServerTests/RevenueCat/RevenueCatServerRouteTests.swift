import Engine
import Foundation
import HTTPTypes
import Ledger
import Testing

@testable import HTTPServer

/// RevenueCat's REST API for backends: its answers and statuses, and who gets which.
@Suite struct RevenueCatServerRouteTests {
    private static let key = "appl_test_birds"
    private static let secret = TestServer.secret
    private static let id = "/v1/subscribers/anna"
    private static let anonymous =
        "/v1/subscribers/$RCAnonymousID%3A0a1b2c3d4e5f60718293a4b5c6d7e8f9"

    @Sendable private static func serve(_ app: inout AppSettings) {
        app.revenueCat = RevenueCatSettings(keys: [key], packages: ["pro.monthly": "$rc_monthly"])
        app.offerings = OfferingRules(placements: [
            Placement(id: "default", products: ["pro.monthly"]),
            Placement(id: "sale", products: ["pro.monthly"]),
        ])
    }

    private typealias Object = [String: Any]

    private static func object(_ answer: TestServer.Answer) throws -> Object {
        let json = try JSONSerialization.jsonObject(with: Data(answer.text.utf8))
        return try #require(json as? Object, "\(answer.text)")
    }

    private struct Row: Sendable {
        var method: HTTPRequest.Method
        var path: String
        var body: String?
        var status: Int
        /// The number in the body of an error.
        var code: Int?

        init(
            _ method: HTTPRequest.Method, _ path: String, _ body: String? = nil, _ status: Int,
            _ code: Int? = nil
        ) {
            (self.method, self.path, self.body) = (method, path, body)
            (self.status, self.code) = (status, code)
        }
    }

    // MARK: - Version 1

    private static func extending(_ days: Int, _ reason: Int) -> String {
        #"{"extend_by_days": \#(days), "extend_reason_code": \#(reason)}"#
    }

    private static let rows = [
        Row(.get, id, nil, 200), Row(.get, "/v1/subscribers/guest", nil, 400, 7256),
        Row(.get, id + "/offerings", nil, 403, 7243),
        Row(.post, id + "/attributes", #"{"attributes": {"bird": {"value": "owl"}}}"#, 200),
        Row(.post, id + "/attributes", #"{"attributes": {"9": {"value": "owl"}}}"#, 400, 7263),
        Row(.post, id + "/attributes", "{}", 400, 7226),
        Row(.post, id + "/attribution", "{}", 200),
        Row(.post, id + "/entitlements/pro/promotional", #"{"duration": "monthly"}"#, 201),
        Row(.post, id + "/entitlements/pro/promotional", #"{"duration": "some"}"#, 400, 7226),
        Row(.post, id + "/entitlements/pro/promotional", "{}", 400, 7226),
        Row(.post, id + "/entitlements/pro/promotional", #"{"end_time_ms": 1}"#, 400, 7226),
        Row(
            .post, id + "/entitlements/pro/promotional", #"{"end_time_ms": \#(Int64.max)}"#, 400,
            7226),
        Row(
            .post, id + "/entitlements/pro/promotional",
            #"{"duration": "yearly", "start_time_ms": \#(Int64.max)}"#, 400, 7226),
        Row(
            .post, id + "/entitlements/pro/promotional",
            #"{"duration": "yearly", "start_time_ms": 253402300799999}"#, 400, 7226),
        Row(.post, id + "/entitlements/gold/promotional", #"{"duration": "daily"}"#, 404, 7226),
        Row(.post, id + "/entitlements/gold/revoke_promotionals", nil, 404, 7226),
        Row(.post, id + "/entitlements/pro/revoke_promotionals", nil, 200),
        Row(.post, id + "/subscriptions/pro.monthly/revoke", "{}", 400, 7226),
        Row(.post, id + "/subscriptions/pro.monthly/defer", "{}", 400, 7226),
        Row(.post, id + "/subscriptions/1/cancel", "{}", 400, 7226),
        Row(.post, id + "/subscriptions/1/extend", "{}", 400, 7226),
        Row(.post, id + "/subscriptions/1/extend", extending(0, 1), 400, 7226),
        Row(.post, id + "/subscriptions/1/extend", extending(91, 1), 400, 7226),
        Row(.post, id + "/subscriptions/1/extend", extending(1, 4), 400, 7226),
        Row(.post, id + "/subscriptions/1/extend", extending(1, 0), 404, 7259),
        Row(.post, id + "/transactions/1/refund", "{}", 400, 7226),
        Row(.post, id + "/offerings/sale/override", nil, 201),
        Row(.post, id + "/offerings/none/override", nil, 404, 7226),
        Row(.delete, id + "/offerings/override", nil, 201),
        // For a backend, the refusal of an invalid request is final.
        Row(.post, "/v1/receipts", #"{"app_user_id": "anna", "fetch_token": "a.b.c"}"#, 400, 7103),
        Row(.post, "/v1/receipts", "{", 400, 7226),
        Row(.post, "/v1/receipts", #"{"app_user_id": "guest", "fetch_token": "a.b.c"}"#, 400, 7256),
        Row(.delete, id, nil, 200),
    ]

    @Test func `every call of a backend gets the expected status and RevenueCat error number`()
        async throws
    {
        try await TestServer.run(Self.serve) { server in
            for row in Self.rows {
                let answer = try await server.send(
                    row.method, row.path, key: Self.secret, body: row.body)
                #expect(answer.status == row.status, "\(row.path): \(answer.text)")
                guard let code = row.code else { continue }
                let failure = try Self.object(answer)
                #expect(failure["code"] as? Int == code, "\(row.path): \(answer.text)")
                #expect((failure["message"] as? String)?.isEmpty == false)
            }
        }
    }

    @Test func `a misspelt or missing member of a backend's body is refused with its name`()
        async throws
    {
        let customer = "\(Self.project)/customers/anna"
        let table: [(String, String, String)] = [
            ("\(Self.id)/entitlements/pro/promotional", #"{"end_time": 1}"#, "`end_time` is"),
            ("\(Self.id)/attributes", #"{"attributes": {"bird": {}}}"#, "attributes.bird.value is"),
            (
                "\(customer)/actions/grant_entitlement",
                #"{"entitlement_id": "pro", "expire_at": 1}"#, "`expire_at` is"
            ),
            ("\(customer)/actions/grant_entitlement", "{}", "entitlement_id is missing"),
            (
                "\(customer)/attributes", #"{"attributes": [{"name": "bird"}]}"#,
                "attributes[0].value is missing"
            ),
            (
                "\(customer)/attributes",
                #"{"attributes": [{"name": "bird", "valeu": "owl"}]}"#, "valeu` is unknown"
            ),
        ]
        try await TestServer.run(Self.serve) { server in
            for (path, body, named) in table {
                let answer = try await server.send(.post, path, key: Self.secret, body: body)
                #expect(answer.status == 400, "\(path)")
                let message = try #require(try Self.object(answer)["message"] as? String)
                #expect(message.contains(named), "\(message)")
            }
            let byApp = try await server.send(.get, Self.id, key: TestServer.key)
            #expect(byApp.status == 401 && byApp.text.contains("not an app key (pk_…)"))
        }
    }

    @Test func `a key for another purpose gets 403, and an unknown key gets 401`() async throws {
        try await TestServer.run(Self.serve) { server in
            try await server.engine.keys.add(
                key: "sk_few", app: "birds", kind: .secret, name: "", scopes: [.read])
            for row in Self.rows where row.method != .get && row.status < 400 {
                guard row.path != Self.id + "/attributes", !row.path.hasSuffix("/attribution")
                else {
                    continue
                }
                let device = try await server.send(
                    row.method, row.path, key: Self.key, body: row.body)
                #expect(device.status == 403, "\(row.path)")
                let few = try await server.send(
                    row.method, row.path, key: "sk_few", body: row.body)
                #expect(few.status == 403, "\(row.path)")
                let unknown = try await server.send(
                    row.method, row.path, key: "sk_unknown", body: row.body)
                #expect(unknown.status == 401, "\(row.path)")
            }
        }
    }

    @Test func `a backend's receipt needs a document, and must be from an Apple platform`()
        async throws
    {
        try await TestServer.run(Self.serve) { server in
            let platform = try #require(HTTPField.Name("X-Platform"))
            for (name, isApple) in [
                ("ios", true), ("macos", true), ("android", false), ("stripe", false),
            ] {
                let answer = try await server.send(
                    .post, "/v1/receipts", key: Self.secret, body: #"{"app_user_id": "anna"}"#,
                    headers: [platform: name])
                #expect(answer.status == 400, "\(name)")
                #expect(answer.text.contains("fetch_token") == isApple, "\(answer.text)")
            }
        }
    }

    private static func attributes(
        _ server: TestServer, _ path: String = id
    ) async throws -> [String: String] {
        let answer = try object(try await server.send(.get, path, key: secret))
        let subscriber = try #require(answer["subscriber"] as? Object)
        let all = try #require(subscriber["subscriber_attributes"] as? [String: Object])
        return all.compactMapValues { $0["value"] as? String }
    }

    @Test func `a backend can read the attributes that a device has posted, and a device cannot`()
        async throws
    {
        try await TestServer.run(Self.serve) { server in
            let posted = try await server.send(
                .post, Self.anonymous + "/attributes", key: Self.key,
                body: #"{"attributes": {"plan_color": {"value": "red", "updated_at_ms": 9}, "#
                    + #""$ip": {"value": "true", "updated_at_ms": 9}}}"#)
            #expect(posted.status == 200 && posted.text == "{}\n")
            #expect(try await Self.attributes(server, Self.anonymous) == ["plan_color": "red"])
            let device = try Self.object(
                try await server.send(.get, Self.anonymous, key: Self.key))
            #expect((device["subscriber"] as? Object)?["subscriber_attributes"] == nil)
            // An empty value deletes the attribute, and an older value changes nothing.
            for (value, moment) in [("blue", 8), ("", 10)] {
                _ = try await server.send(
                    .post, Self.anonymous + "/attributes", key: Self.key,
                    body: #"{"attributes": {"plan_color": {"value": "\#(value)", "#
                        + #""updated_at_ms": \#(moment)}}}"#)
            }
            #expect(try await Self.attributes(server, Self.anonymous).isEmpty)
        }
    }

    @Test func `a device stores attributes of a person only if the configuration allows it`()
        async throws
    {
        let body = #"{"attributes": {"$email": {"value": "a@b.c", "updated_at_ms": 1}}}"#
        try await TestServer.run(Self.serve) { server in
            let answer = try await server.send(
                .post, Self.id + "/attributes", key: Self.key, body: body)
            #expect(answer.status == 400 && answer.text.contains("unproven_attributes"))
            #expect(try await Self.attributes(server).isEmpty)
        }
        let trusting: TestServer.Change = {
            Self.serve(&$0)
            $0.revenueCat.takesUnprovenAttributes = true
        }
        try await TestServer.run(trusting) { server in
            let answer = try await server.send(
                .post, Self.id + "/attributes", key: Self.key, body: body)
            #expect(answer.status == 200)
            #expect(try await Self.attributes(server) == ["$email": "a@b.c"])
        }
    }

    @Test func `if an attribute in a request is invalid, it is named, and the others are stored`()
        async throws
    {
        try await TestServer.run(Self.serve) { server in
            let answer = try await server.send(
                .post, Self.anonymous + "/attributes", key: Self.key,
                body: #"{"attributes": {"bird": {"value": "owl", "updated_at_ms": 1}, "#
                    + #""$email": {"value": "nobody", "updated_at_ms": 1}}}"#)
            #expect(answer.status == 400)
            let errors = try #require(
                try Self.object(answer)["attribute_errors"] as? [[String: String]])
            #expect(errors.map { $0["key_name"] } == ["$email"])
            #expect(try await Self.attributes(server, Self.anonymous) == ["bird": "owl"])
        }
    }

    @Test func `attributes posted with a receipt are stored, and an invalid attribute is ignored`()
        async throws
    {
        try await TestServer.run(Self.serve) { server in
            let user = "$RCAnonymousID:0a1b2c3d4e5f60718293a4b5c6d7e8f9"
            for attributes in [
                #"{"bird": {"value": "owl", "updated_at_ms": 1}, "9": {"value": "x"}}"#, "7",
                #"{"bird": 7}"#,
            ] {
                let answer = try await server.send(
                    .post, "/v1/receipts", key: Self.key,
                    body: #"{"app_user_id": "\#(user)", "attributes": \#(attributes)}"#)
                #expect(answer.status == 200, "\(answer.text)")
            }
            #expect(try await Self.attributes(server, Self.anonymous) == ["bird": "owl"])
        }
    }

    // MARK: - Version 2

    private static let project = "/v2/projects/birds"

    private static let secondRows = [
        Row(.get, "/v2/projects", nil, 200), Row(.get, project + "/apps", nil, 200),
        Row(.get, project + "/products", nil, 200), Row(.get, project + "/offerings", nil, 200),
        Row(.get, project + "/products/pro.monthly", nil, 200),
        Row(.get, project + "/products/x", nil, 404),
        Row(.get, project + "/entitlements/pro/products", nil, 200),
        Row(.get, project + "/entitlements/x/products", nil, 404),
        Row(.get, project + "/offerings/default/packages", nil, 200),
        Row(.get, "/v2/projects/other/products", nil, 404),
        Row(.get, project + "/customers/anna", nil, 404),
        Row(
            .post, project + "/customers/anna/actions/grant_entitlement",
            #"{"entitlement_id": "pro"}"#, 200),
        Row(.get, project + "/customers/anna", nil, 200),
        Row(.get, project + "/customers/anna/aliases", nil, 200),
        Row(.get, project + "/customers/anna/purchases", nil, 200),
        Row(.get, project + "/customers/anna/virtual_currencies", nil, 200),
        Row(.get, project + "/customers/anna/subscriptions?limit=0", nil, 400),
        Row(.get, project + "/customers/anna/subscriptions?starting_after=x", nil, 400),
        Row(
            .post, project + "/customers/anna/actions/grant_entitlement",
            #"{"entitlement_id": "gold"}"#, 404),
        Row(
            .post, project + "/customers/anna/actions/grant_entitlement",
            #"{"entitlement_id": "pro", "expires_at": \#(Int64.max)}"#, 400),
        Row(
            .post, project + "/customers/anna/attributes",
            #"{"attributes": [{"name": "bird", "value": "owl"}]}"#, 200),
        Row(
            .post, project + "/customers/anna/attributes",
            #"{"attributes": [{"name": "9", "value": "owl"}]}"#, 422),
        Row(
            .post, project + "/customers/anna/actions/transfer",
            #"{"target_customer_id": "ben"}"#, 200),
        Row(
            .post, project + "/customers/anna/actions/transfer",
            #"{"target_customer_id": "anna"}"#, 400),
        Row(
            .post, project + "/customers/anna/actions/revoke_granted_entitlement",
            #"{"entitlement_id": "pro"}"#, 200),
        Row(.delete, project + "/customers/anna", nil, 200),
    ]

    private static let words = [
        400: "parameter_error", 404: "resource_missing",
        422: "unprocessable_entity_error", 401: "authentication_error", 403: "authorization_error",
    ]

    @Test func `every call of RevenueCat's version 2 gets the expected status and error type`()
        async throws
    {
        try await TestServer.run(Self.serve) { server in
            for row in Self.secondRows {
                let answer = try await server.send(
                    row.method, row.path, key: Self.secret, body: row.body)
                #expect(answer.status == row.status, "\(row.path): \(answer.text)")
                guard row.status >= 400 else { continue }
                let failure = try Self.object(answer)
                #expect(failure["object"] as? String == "error", "\(row.path)")
                #expect(failure["type"] as? String == Self.words[row.status], "\(row.path)")
            }
            for (key, status) in [(Self.key, 401), (TestServer.key, 403), ("sk_unknown", 401)] {
                let answer = try await server.send(.get, Self.project + "/apps", key: key)
                #expect(answer.status == status, "\(key)")
                #expect(try Self.object(answer)["type"] as? String == Self.words[status])
            }
        }
    }

    private static func list(_ server: TestServer, _ path: String) async throws -> Object {
        let answer = try await server.send(.get, path, key: secret)
        #expect(answer.status == 200, "\(answer.text)")
        let list = try object(answer)
        #expect(list["object"] as? String == "list")
        #expect(path.hasPrefix(list["url"] as? String ?? "?"))
        return list
    }

    @Test func `the pages of a list contain every customer once, and no erased customer`()
        async throws
    {
        try await TestServer.run(Self.serve) { server in
            let names = ["a b", "anna", "ben", "cleo", "$RCAnonymousID:x"].sorted()
            for name in names + ["gone"] {
                _ = try await server.engine.grants.add(
                    NewGrant(entitlement: "pro", reason: "sorry"), to: CustomerID(rawValue: name),
                    app: "birds", environment: .production)
            }
            _ = try await server.engine.customers.erase("gone", app: "birds")
            var next: String? = Self.project + "/customers?limit=2"
            var found: [String] = []
            var pages = 0
            while let path = next {
                let list = try await Self.list(server, path)
                let items = try #require(list["items"] as? [Object])
                found += items.compactMap { $0["id"] as? String }
                next = (list["next_page"] as? String).map { "\($0)&limit=2" }
                pages += 1
                try #require(pages < 9)
            }
            #expect(found == names && pages == 3)
        }
    }

    @Test func `offerings, packages and products are those of the configuration`() async throws {
        try await TestServer.run(Self.serve) { server in
            func ids(_ path: String) async throws -> [String] {
                let items = try await Self.list(server, Self.project + path)["items"] as? [Object]
                return (items ?? []).compactMap { $0["id"] as? String }
            }
            let table = [
                ("/offerings", ["default", "sale"]),
                ("/offerings/default/packages", ["$rc_monthly"]), ("/entitlements", ["pro"]),
                ("/products", ["gems.100", "pro.monthly"]), ("/products?limit=1", ["gems.100"]),
                ("/products?starting_after=gems.100", ["pro.monthly"]), ("/apps", ["birds"]),
            ]
            for (path, expected) in table {
                let found = try await ids(path)
                #expect(found == expected, "\(path)")
            }
        }
    }
}
