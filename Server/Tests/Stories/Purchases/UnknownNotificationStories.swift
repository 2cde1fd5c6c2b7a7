import AppStoreFormats
import Engine
import Ledger
import Testing

/// Notifications of forms that Apple may add after this version of the server.
@Suite(.serialized) struct UnknownNotificationStories {
    private static let app: [JSON.Member] = [
        JSON.Member("bundleId", "com.example.birds"), JSON.Member("environment", "Production"),
    ]

    /// The fields besides the type in ten notifications.
    private static let parts: [(name: String, members: [JSON.Member])] = [
        (
            "ended claims of a group",
            [JSON.Member("unclaimInfo", .object(app + [JSON.Member("unclaimSeatIds", claims)]))]
        ),
        (
            "ended claims alone",
            [JSON.Member("unclaimInfo", ["unclaimSeatIds": claims])]
        ),
        ("a part that names the app", [JSON.Member("groupInfo", .object(app))]),
        ("a part that names nothing", [JSON.Member("groupInfo", ["members": 3])]),
        ("a list", [JSON.Member("groups", [["groupId": "1"], ["groupId": "2"]])]),
        ("a signed text", [JSON.Member("signedGroupInfo", "eyJhIjoxfQ.e30.AAAA")]),
        ("null", [JSON.Member("groupInfo", .null)]),
        ("nothing", []),
        ("the app beside the type", app),
        ("data that is a list", [JSON.Member("data", [.object(app)])]),
    ]

    private static let claims: JSON = ["5b0b1d0e-6a5c-4c69-9a3e-0d6a3b1f0001"]

    private static func notification(
        _ number: Int, _ members: [JSON.Member], at milliseconds: Int64
    ) -> JSON {
        .object(
            [
                JSON.Member("notificationType", "UNCLAIM_SEATS"),
                JSON.Member("notificationUUID", .string("new-\(number)")),
                JSON.Member("version", "2.0"), JSON.Member("signedDate", .integer(milliseconds)),
            ] + members)
    }

    private static func content(of jws: String) throws -> JSON {
        try JSON(parsing: CompactJWS(jws)?.payload ?? [])
    }

    private static func signedAt(_ bought: JSON) throws -> Int64 {
        let content = try content(of: try bought.text("signed_transaction"))
        return try #require(content["signedDate"]?.integer)
    }

    private static func status(of payload: JSON, in shop: Shop) async throws -> Int {
        let body: JSON = ["signedPayload": .string(try shop.authority.sign(payload))]
        return try await shop.server.send("POST", "/apple/notifications", body: body.bytes).status
    }

    private static func documents(in shop: Shop) async throws -> Int {
        try await shop.database.read { connection in
            Int(try connection.number("SELECT count(*) FROM documents"))
        }
    }

    @Test(arguments: StoryDatabase.allCases)
    func `an authentic notification of an unknown form is recorded once`(
        database: StoryDatabase
    ) async throws {
        try await withShop(on: database, notifies: false) { shop in
            let bought = try await shop.buyMonth("anna")
            #expect(try await shop.post(bought, as: "anna") == 200)
            let (before, now) = (try await Self.documents(in: shop), try Self.signedAt(bought))
            for (number, part) in Self.parts.enumerated() {
                let payload = Self.notification(number, part.members, at: now)
                #expect(try await Self.status(of: payload, in: shop) == 200, "\(part.name)")
                #expect(try await Self.documents(in: shop) == before + number + 1, "\(part.name)")
                // A notification with a new signature is the same document.
                #expect(try await Self.status(of: payload, in: shop) == 200, "\(part.name)")
                #expect(try await Self.documents(in: shop) == before + number + 1, "\(part.name)")
            }
            #expect(try await shop.entitlement("pro", of: "anna")?["active"] == true)
            #expect(try await shop.engine.maintenance.rebuild(verifyOnly: true).isClean)
        }
    }

    @Test(arguments: StoryDatabase.allCases)
    func `a known notification with unknown fields has its usual effect`(
        database: StoryDatabase
    ) async throws {
        try await withShop(on: database, notifies: false) { shop in
            let bought = try await shop.buyMonth("anna")
            #expect(try await shop.post(bought, as: "anna") == 200)
            try await shop.simulator.post("/_sim/subscriptions/anna:pro.monthly/refund")
            let sent = try JSON(parsing: try #require(try await shop.notifications().last))
            let told = try Self.content(of: try sent.text("signedPayload"))
            let data = try #require(told["data"])
            // The nested document has a form that this version does not know.
            let newer = told.setting("notificationUUID", "new-1")
                .setting(
                    "data", data.setting("signedTransactionInfo", "a form of the future"))
            #expect(try await Self.status(of: newer, in: shop) == 200)
            #expect(try await shop.entitlement("pro", of: "anna")?["active"] == true)
            let more = told.setting("notificationType", "NEVER_HEARD_OF")
                .setting("groupInfo", ["members": 3])
                .setting("data", data.setting("status", "five").setting("seats", 8))
            #expect(try await Self.status(of: more, in: shop) == 200)
            #expect(try await shop.entitlement("pro", of: "anna")?["active"] == false)
            #expect(try await shop.engine.maintenance.rebuild(verifyOnly: true).isClean)
        }
    }

    @Test func `a notification for another app, or an invalid one, is refused in any form`()
        async throws
    {
        try await withShop(on: .sqlite, notifies: false) { shop in
            let bought = try await shop.buyMonth("anna")
            let now = try Self.signedAt(bought)
            let transaction = try Self.content(of: try bought.text("signed_transaction"))
            let before = try await Self.documents(in: shop)
            let other: JSON = ["bundleId": "com.example.other", "environment": "Production"]
            let local: JSON = ["bundleId": "com.example.birds", "environment": "Xcode"]
            let number: JSON = ["appAppleId": 7, "environment": "Production"]
            let refused: [JSON] =
                [other, local, number].map {
                    Self.notification(1, [JSON.Member("groupInfo", $0)], at: now)
                }
                + [other, local, number].map {
                    Self.notification(1, [JSON.Member("unclaimInfo", $0)], at: now)
                } + [transaction, transaction.setting("notificationType", "UNCLAIM_SEATS")]
            for payload in refused {
                #expect(try await Self.status(of: payload, in: shop) == 422, "\(payload)")
            }
            #expect(try await Self.documents(in: shop) == before)
        }
    }
}
