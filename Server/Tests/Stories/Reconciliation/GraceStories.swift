import AppStoreClient
import AppStoreFormats
import AppStoreTrust
import AsyncHTTPClient
import Engine
import Foundation
import Ledger
import Logging
import OutgoingHTTP
import Simulator
import Storage
import Testing

@testable import Program

/// A grace period whose end Apple does not report.
@Suite(.serialized) struct GraceStories {
    @Test(arguments: StoryDatabase.allCases)
    func `if a notification reports grace without an end date, access stays open`(
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
            let report = try await shop.engine.maintenance.rebuild(verifyOnly: true)
            #expect(report.isClean, "\(report)")
        }
    }

    @Test(arguments: StoryDatabase.allCases)
    func `an App Store status of grace without an end does not shorten a known grace period`(
        database: StoryDatabase
    ) async throws {
        try await withShop(on: database, notifies: false) { shop in
            let chain = try await Self.failBilling(shop)
            try await shop.simulator.post("/_sim/clock", ["advance": "P32D"])
            let told = try #require(try await shop.notifications().last)
            let body = try Self.withoutEnd(told, shop)
            let answer = try await shop.server.send("POST", "/apple/notifications", body: body)
            #expect(answer.status == 200)
            let before = try await shop.entitlement("pro", of: "anna")
            #expect(before?["state"] == "grace")
            for _ in 1...2 {
                try await Self.ask(about: chain, in: shop)
                let after = try await shop.entitlement("pro", of: "anna")
                #expect(after?["state"] == "grace")
                #expect(after?["until"] == before?["until"])
                try await shop.simulator.post("/_sim/clock", ["advance": "PT1H"])
            }
            let report = try await shop.engine.maintenance.rebuild(verifyOnly: true)
            #expect(report.isClean, "\(report)")
        }
    }

    @Test(arguments: StoryDatabase.allCases)
    func `access stays open while the App Store reports the status grace without an end`(
        database: StoryDatabase
    ) async throws {
        try await withShop(on: database, notifies: false) { shop in
            let chain = try await Self.failBilling(shop)
            // Checks happen after the day of uncertainty, then after each of the shorter lengths,
            // then after sixteen days.
            var ends: [Date] = []
            for advance in ["P31DT2H", "P1D", "P2D", "P3D"] {
                try await shop.simulator.post("/_sim/clock", ["advance": .string(advance)])
                try await Self.ask(about: chain, in: shop)
                let pro = try await shop.entitlement("pro", of: "anna")
                #expect(pro?["state"] == "grace", "\(advance) later")
                ends.append(try Self.date(pro?["until"]?.string))
            }
            let days = ends.map { $0.timeIntervalSince(ends[0]) / 86_400 }
            #expect(days == [0, 0, 3, 13])
            let report = try await shop.engine.maintenance.rebuild(verifyOnly: true)
            #expect(report.isClean, "\(report)")
        }
    }

    /// Anna buys a month, and her next payment will fail. Returns the number of her purchase.
    private static func failBilling(_ shop: Shop) async throws -> String {
        let bought = try await shop.buyMonth("anna")
        #expect(try await shop.post(bought, as: "anna") == 200)
        let chain = try bought.text("original_transaction_id")
        try await shop.simulator.post("/_sim/subscriptions/\(chain)/fail-billing")
        return chain
    }

    /// Another server on the same database checks a purchase. The App Store's answer reports a
    /// grace period without its end.
    private static func ask(about chain: String, in shop: Shop) async throws {
        let now = try await Stage(simulator: shop.simulator, server: shop.server).now()
        try await HTTPClient.withHTTPClient(configuration: .withoutRedirects) { http in
            let reach = httpSender(http, hosts: .simulator(shop.simulator.base))
            let client = AppStoreClient(
                try AppStoreCredentials.simulated(bundleID: birds.settings.bundleID),
                now: { AppStoreDate(milliseconds: now.milliseconds) },
                send: { request in
                    var response = try await reach(request)
                    guard request.path.contains("/subscriptions/") else { return response }
                    response.body = try Self.withoutEnd(answer: response.body, shop)
                    return response
                })
            let worker = CheckWorker(
                holder: "another", lease: ReconciliationSettings.lease, checksPerSecond: 25)
            let root = try TrustRoots(der: [shop.authority.rootDER])
            let engine = Engine(
                database: shop.database, apps: [birds.settings],
                verifiers: [birds.settings.id: Verifier(roots: root)], now: { now },
                reconciliation: ReconciliationSettings(worker: worker) { _ in client },
                logger: Logger(label: "story") { _ in SwiftLogNoOpLogHandler() })
            let purchase = PurchaseID(TransactionID(rawValue: chain), in: .production)
            let outcome = try await engine.reconciliation.refresh(purchase, app: birds.settings.id)
            guard case .responded = outcome else {
                throw Wire.Unexpected(description: "asked about \(chain): \(outcome)")
            }
        }
    }

    /// Returns statuses that report a grace period, but whose renewal information lacks its end.
    private static func withoutEnd(answer body: [UInt8], _ shop: Shop) throws -> [UInt8] {
        let answer = try JSON(parsing: body)
        let groups = try (answer["data"]?.array ?? []).map { group -> JSON in
            let chains = try (group["lastTransactions"]?.array ?? []).map { chain -> JSON in
                #expect(chain["status"] == 4)
                let renewal = try content(of: try chain.text("signedRenewalInfo"))
                #expect(renewal["gracePeriodExpiresDate"] != nil)
                let silent = renewal.setting("gracePeriodExpiresDate", .null)
                return chain.setting(
                    "signedRenewalInfo", .string(try shop.authority.sign(silent)))
            }
            return group.setting("lastTransactions", .array(chains))
        }
        #expect(groups.count == 1)
        return answer.setting("data", .array(groups)).bytes
    }

    /// A notification of grace whose renewal information lacks its end.
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

    private static func date(_ text: String?) throws -> Date {
        let text = try #require(text)
        let exact = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
        return try (try? exact.parse(text)) ?? Date.ISO8601FormatStyle().parse(text)
    }

    private static func content(of jws: String) throws -> JSON {
        try JSON(parsing: CompactJWS(jws)?.payload ?? [])
    }
}
