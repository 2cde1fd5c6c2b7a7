import AppStoreFormats
import Simulator
import Testing

/// Grace that Apple tells of without saying how long.
@Suite(.serialized) struct GraceStories {
    @Test(arguments: StoryDatabase.allCases)
    func `whoever is told to be in grace is not shut out where its end is not named`(
        database: StoryDatabase
    ) async throws {
        try await withShop(on: database, notifies: false) { shop in
            let bought = try await shop.buyMonth("anna")
            #expect(try await shop.post(bought, as: "anna") == 200)
            let chain = try bought.text("original_transaction_id")
            try await shop.simulator.post("/_sim/subscriptions/\(chain)/fail-billing")
            try await shop.simulator.post("/_sim/clock", ["advance": "P32D"])
            let told = try #require(try await shop.notifications().last)
            let body = try Self.withoutEnd(told, shop)
            let answer = try await shop.server.send("POST", "/apple/notifications", body: body)
            #expect(answer.status == 200)
            #expect(try await shop.entitlement("pro", of: "anna")?["state"] == "grace")
            try await shop.simulator.post("/_sim/clock", ["advance": "P3D"])
            #expect(try await shop.entitlement("pro", of: "anna")?["state"] == "retry")
            let report = try await shop.engine.rebuild(verifyOnly: true)
            #expect(report.isClean, "\(report)")
        }
    }

    /// A notification that tells of grace, without the end of it in its renewal information.
    private static func withoutEnd(_ notification: [UInt8], _ shop: Shop) throws -> [UInt8] {
        let told = try content(of: try JSON(parsing: notification).text("signedPayload"))
        #expect(told["subtype"] == "GRACE_PERIOD")
        let part = try #require(told["data"])
        let renewal = try content(of: try part.text("signedRenewalInfo"))
        let silent = try shop.authority.sign(renewal.setting("gracePeriodExpiresDate", .null))
        let changed = told.setting("data", part.setting("signedRenewalInfo", .string(silent)))
        let body: JSON = ["signedPayload": .string(try shop.authority.sign(changed))]
        return body.bytes
    }

    private static func content(of jws: String) throws -> JSON {
        try JSON(parsing: CompactJWS(jws)?.payload ?? [])
    }
}
