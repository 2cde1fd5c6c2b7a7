import AppStoreFormats
import Engine
import Ledger
import Simulator
import Storage
import Testing

@testable import Program

/// Warnings in the log, for the operator.
@Suite(.serialized) struct WarningStories {
    /// The moment at which a shop opens. The shop's clock stands still.
    private static let now = Instant(milliseconds: 1_767_268_800_000)

    /// Another server of an app beside the shop's server. That server has its own database, clock
    /// and log.
    private static func withServer(
        of app: AppConfiguration, beside shop: Shop, behind: Duration = .zero,
        _ story: (Engine, RecordedLog) async throws -> Void
    ) async throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let log = RecordedLog()
        let server = try await Assembly(
            apps: [app], databaseAddress: "\(folder.path)/beside.sqlite",
            simulatorRoot: shop.authority.rootDER,
            receiptRoot: shop.authority.receipts.rootDER, now: { now - behind },
            logger: log.logger)
        defer { server.database.close() }
        try await story(server.engine, log)
    }

    /// The example app, with only one product that gives an entitlement.
    private static var poor: AppConfiguration {
        var app = birds
        app.settings.entitlements = ["pro": ["pro.monthly"]]
        app.settings.terms = .none
        app.settings.wallets = .none
        return app
    }

    /// The products that give nothing according to the log, in order.
    private static func givingNothing(_ log: RecordedLog) -> [String] {
        log.lines.filter {
            $0.level == .warning && $0.facts["app"] == "birds"
                && $0.message.hasPrefix("a product was bought that gives nothing")
        }.compactMap { $0.facts["product"] }
    }

    @Test func `a bought product that gives no entitlement is logged once`() async throws {
        try await withShop(on: .sqlite, notifies: false) { shop in
            try await shop.addDevice("anna")
            var signed: [String] = []
            for product in ["pro.monthly", "guide", "season.spring", "seeds.100"] {
                let bought = try await shop.simulator.post(
                    "/_sim/devices/anna-1/purchases", ["product_id": .string(product)])
                signed.append(try bought.text("signed_transaction"))
            }
            let evidence = PurchaseEvidence(signedTransactions: signed)
            let told = try await shop.notifications()
            // The app may count consumables itself, so they are not logged.
            let expected = ["guide", "season.spring"]
            try await Self.withServer(of: Self.poor, beside: shop) { server, log in
                for _ in 1...2 {
                    _ = try await server.recording.record(evidence, of: "anna", app: "birds")
                }
                #expect(Self.givingNothing(log) == expected)
                for body in told { _ = try await server.recording.record(notification: body) }
                #expect(Self.givingNothing(log) == expected)
            }
            // A product is also logged if it first appears in a notification.
            try await Self.withServer(of: Self.poor, beside: shop) { server, log in
                for body in told { _ = try await server.recording.record(notification: body) }
                #expect(Self.givingNothing(log) == expected)
            }
        }
    }

    /// The client gets status 21005, as for any other temporary failure.
    @Test
    func `a receipt signed 10 minutes in the future is counted, and the log says to set the clock`()
        async throws
    {
        try await withShop(on: .sqlite, notifies: false) { shop in
            try await shop.addDevice("anna")
            let bought = try await shop.simulator.post(
                "/_sim/devices/anna-1/purchases", ["product_id": "pro.monthly"])
            let question: JSON = [
                "receipt-data": .string(try bought.text("app_receipt")),
                "password": .string(SimulatorSettings.wellKnownSecret),
            ]
            let late = Duration.seconds(600)
            try await Self.withServer(of: birds, beside: shop, behind: late) { server, log in
                let answer = try JSON(
                    parsing: try await server.legacy.verifyReceipt(question.bytes, at: .production))
                #expect(answer["status"] == 21005)
                #expect(server.counts.documentsSignedAhead == 1)
                let found = log.lines.filter { $0.level == .error }.compactMap { $0.facts["found"] }
                #expect(found.count == 1)
                #expect(found.first?.contains("set the clock") == true, "\(found)")
            }
        }
    }
}
