import AppStoreFormats
import Simulator
import Testing

/// The server answers bad input with a problem that names a remedy, and changes nothing.
@Suite(.serialized) struct BadInputStories {
    /// One bad input, and the expected response.
    struct Row: CustomTestStringConvertible, Sendable {
        var what: String
        var status: Int
        var code: String
        var body: @Sendable (Evidence) throws -> [UInt8]
        var testDescription: String { what }
    }

    /// Genuine documents of a purchase, and a forger who signs as Apple does, but under another
    /// root.
    struct Evidence: Sendable {
        var notification: String
        var transaction: String
        var authority: SigningAuthority
        var stranger: SigningAuthority

        func notificationSaying(_ key: String, _ value: JSON, inData: Bool = true) throws -> JSON {
            let payload = try JSON(parsing: CompactJWS(notification)?.payload ?? [])
            guard inData else { return payload.setting(key, value) }
            return payload.setting("data", (payload["data"] ?? .null).setting(key, value))
        }
    }

    static func posting(_ payload: String) -> [UInt8] {
        let body: JSON = ["signedPayload": .string(payload)]
        return body.bytes
    }

    static let notifications: [Row] = [
        Row(what: "not JSON", status: 400, code: "notification_not_understood") { _ in
            Array("<xml/>".utf8)
        },
        Row(what: "no signedPayload", status: 400, code: "notification_not_understood") { _ in
            Array("{}".utf8)
        },
        Row(what: "a truncated JWS", status: 422, code: "notification_not_trusted") {
            posting(String($0.notification.dropLast(20)))
        },
        Row(what: "a payload cut off", status: 400, code: "notification_not_understood") {
            let parts = $0.notification.split(separator: ".")
            return posting("\(parts[0]).\(parts[1].dropLast(7)).\(parts[2])")
        },
        Row(what: "a flipped bit in the signature", status: 422, code: "notification_not_trusted") {
            posting(flipped($0.notification, inSegment: 2))
        },
        Row(
            what: "a changed payload under the old signature", status: 422,
            code: "notification_not_trusted"
        ) {
            let parts = $0.notification.split(separator: ".")
            let changed = try $0.notificationSaying("notificationUUID", "1", inData: false)
            let payload = String(decoding: Base64.url.encode(changed.bytes), as: UTF8.self)
            return posting("\(parts[0]).\(payload).\(parts[2])")
        },
        Row(what: "another app", status: 422, code: "notification_for_another_app") {
            posting(
                try $0.authority.sign(try $0.notificationSaying("bundleId", "com.example.other")))
        },
        Row(what: "another Apple id", status: 422, code: "notification_not_trusted") {
            posting(try $0.authority.sign(try $0.notificationSaying("appAppleId", 7)))
        },
        Row(what: "from Xcode", status: 422, code: "notification_not_trusted") {
            posting(try $0.authority.sign(try $0.notificationSaying("environment", "Xcode")))
        },
        Row(
            what: "an environment unlike its transaction's", status: 422,
            code: "notification_not_trusted"
        ) {
            posting(try $0.authority.sign(try $0.notificationSaying("environment", "Sandbox")))
        },
        Row(what: "alg none", status: 422, code: "notification_not_trusted") {
            posting(
                try $0.authority.sign(
                    try JSON(parsing: CompactJWS($0.notification)?.payload ?? []),
                    header: [JSON.Member("alg", "none")]))
        },
        Row(what: "certificates under another root", status: 422, code: "notification_not_trusted")
        {
            posting(
                try $0.stranger.sign(try JSON(parsing: CompactJWS($0.notification)?.payload ?? [])))
        },
        Row(what: "no certificates", status: 422, code: "notification_not_trusted") {
            posting(
                try $0.authority.sign(
                    try JSON(parsing: CompactJWS($0.notification)?.payload ?? []),
                    header: [JSON.Member("x5c", .null)]))
        },
        Row(what: "signed in the future", status: 503, code: "signing_time_in_future") {
            posting(
                try $0.authority.sign(
                    try $0.notificationSaying("signedDate", 4_000_000_000_000, inData: false)))
        },
        Row(what: "ten megabytes", status: 413, code: "body_too_large") { _ in
            [UInt8](repeating: UInt8(ascii: " "), count: 10_000_000)
        },
    ]

    @Test(arguments: notifications, StoryDatabase.allCases)
    func `an invalid notification is refused with the reason, and changes nothing`(
        row: Row, database: StoryDatabase
    ) async throws {
        try await withShop(on: database) { shop in
            let evidence = try await Self.evidence(shop)
            let before = try await shop.engine.maintenance.rebuild(verifyOnly: true)
            let answer = try await shop.server.send(
                "POST", "/apple/notifications", body: try row.body(evidence))
            try Self.expect(answer, row)
            #expect(try await shop.engine.maintenance.rebuild(verifyOnly: true) == before)
        }
    }

    @Test
    func `documents signed in the future are refused and counted, and the server stays ready`()
        async throws
    {
        try await withShop(on: .sqlite) { shop in
            let evidence = try await Self.evidence(shop)
            #expect(try await Self.signedAhead(shop) == "0")
            let notification = try evidence.authority.sign(
                try evidence.notificationSaying("signedDate", 4_000_000_000_000, inData: false))
            for _ in 1...2 {
                let answer = try await shop.server.send(
                    "POST", "/apple/notifications", body: Self.posting(notification))
                #expect(answer.status == 503)
            }
            let payload = try JSON(parsing: CompactJWS(evidence.transaction)?.payload ?? [])
            let transaction = try evidence.authority.sign(
                payload.setting("signedDate", 4_000_000_000_000))
            let answer = try await shop.server.send(
                "POST", "/v1/purchases", body: Self.posting(customer: "ben", [transaction]))
            #expect(answer.status == 503)
            #expect(try await Self.signedAhead(shop) == "3")
            #expect(try await shop.server.send("GET", "/ready").status == 200)
        }
    }

    private static func signedAhead(_ shop: Shop) async throws -> Substring? {
        let text = String(
            decoding: try await shop.server.send("GET", "/metrics").body, as: UTF8.self)
        return text.split(separator: "\n").first {
            $0.hasPrefix("perennial_documents_signed_ahead_total ")
        }?.split(separator: " ").last
    }

    static let purchases: [Row] = [
        Row(what: "not JSON", status: 400, code: "body_not_json") { _ in Array("hello".utf8) },
        Row(what: "nothing in it", status: 400, code: "purchases_missing") { _ in
            posting(customer: "ben", [])
        },
        Row(what: "a flipped bit", status: 422, code: "purchase_not_trusted") {
            posting(customer: "ben", [flipped($0.transaction, inSegment: 1)])
        },
        Row(what: "one good and one bad", status: 422, code: "purchase_not_trusted") {
            posting(customer: "ben", [$0.transaction, flipped($0.transaction, inSegment: 2)])
        },
        Row(what: "signed by a stranger", status: 422, code: "purchase_not_trusted") {
            let payload = try JSON(parsing: CompactJWS($0.transaction)?.payload ?? [])
            return posting(customer: "ben", [try $0.stranger.sign(payload)])
        },
        Row(what: "of another app", status: 422, code: "purchase_not_trusted") {
            let payload = try JSON(parsing: CompactJWS($0.transaction)?.payload ?? [])
            let other = payload.setting("bundleId", "com.example.other")
            return posting(customer: "ben", [try $0.authority.sign(other)])
        },
        Row(what: "without a product", status: 422, code: "purchase_incomplete") {
            let payload = try JSON(parsing: CompactJWS($0.transaction)?.payload ?? [])
            return posting(
                customer: "ben", [try $0.authority.sign(payload.setting("productId", .null))])
        },
        Row(what: "an id that means nobody", status: 422, code: "customer_id_not_valid") {
            posting(customer: "null", [$0.transaction])
        },
        Row(
            what: "another customer's purchase", status: 409,
            code: "purchase_belongs_to_another_customer"
        ) {
            posting(customer: "ben", [$0.transaction])
        },
    ]

    static func posting(customer: String, _ transactions: [String]) -> [UInt8] {
        let body: JSON = [
            "customer_id": .string(customer),
            "signed_transactions": .array(transactions.map { .string($0) }),
        ]
        return body.bytes
    }

    @Test(arguments: purchases, StoryDatabase.allCases)
    func `an invalid posting is refused with the reason, and gives the customer no access`(
        row: Row, database: StoryDatabase
    ) async throws {
        try await withShop(on: database) { shop in
            let evidence = try await Self.evidence(shop)
            let before = try await shop.engine.maintenance.rebuild(verifyOnly: true)
            let answer = try await shop.server.send(
                "POST", "/v1/purchases", body: try row.body(evidence))
            try Self.expect(answer, row)
            #expect(try await shop.engine.maintenance.rebuild(verifyOnly: true) == before)
            #expect(try await shop.entitlement("pro", of: "ben") == nil)
            #expect(try await shop.entitlement("pro", of: "anna")?["active"] == true)
            let customers = try await shop.database.read {
                try $0.rows("SELECT customer FROM customers", []).map(\.values)
            }
            #expect(customers == [[.text("anna")]], "ben is not a customer")
        }
    }

    @Test(
        arguments: ["x'; DROP TABLE customers; --", "a\" OR 1=1", "../../etc/passwd", "%00", "😀"],
        StoryDatabase.allCases)
    func `SQL, paths and odd characters in a customer id are treated as plain text`(
        id: String, database: StoryDatabase
    ) async throws {
        try await withShop(on: database) { shop in
            _ = try await Self.evidence(shop)
            let allowed = id.utf8.map { byte in
                "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16)
            }.joined()
            let answer = try await shop.server.send("GET", "/v1/customers/\(allowed)")
            #expect(answer.status == 200, "\(String(decoding: answer.body, as: UTF8.self))")
            #expect(try answer.json["customer_id"]?.string == id)
            #expect(try answer.json["subscriptions"] == [])
            #expect(try await shop.entitlement("pro", of: "anna")?["active"] == true)
        }
    }

    // MARK: -

    private static func evidence(_ shop: Shop) async throws -> Evidence {
        try await shop.addDevice("anna")
        let bought = try await shop.simulator.post(
            "/_sim/devices/anna-1/purchases", ["product_id": "pro.monthly"])
        let transaction = try bought.text("signed_transaction")
        try await shop.server.post(
            "/v1/purchases",
            ["customer_id": "anna", "signed_transactions": [.string(transaction)]])
        let body = try JSON(parsing: try #require(try await shop.notifications().first))
        return Evidence(
            notification: try body.text("signedPayload"), transaction: transaction,
            authority: shop.authority, stranger: try SigningAuthority())
    }

    private static func expect(_ answer: Wire.Answer, _ row: Row) throws {
        #expect(answer.status == row.status, "\(String(decoding: answer.body, as: UTF8.self))")
        let problem = try answer.json
        #expect(problem["code"]?.string == row.code)
        for key in ["type", "title", "remedy", "request_id"] {
            #expect(problem[key]?.string?.isEmpty == false, "\(key) in \(problem.text)")
        }
    }

    /// Replaces a character in the middle of a segment.
    private static func flipped(_ jws: String, inSegment number: Int) -> String {
        var segments = jws.split(separator: ".").map(Array.init)
        let middle = segments[number].count / 2
        segments[number][middle] = segments[number][middle] == "A" ? "B" : "A"
        return segments.map { String($0) }.joined(separator: ".")
    }
}

extension JSON {
    /// Returns the object with a new value for a member, or without the member if the value is
    /// (null).
    func setting(_ key: String, _ value: JSON) -> JSON {
        let others = (members ?? []).filter { $0.key != key }
        return .object(others + (value == .null ? [] : [Member(key, value)]))
    }
}
