import AppStoreTrust
import Ledger
import Logging
import Storage
import StorageSQLite
import Synchronization
import Testing

@testable import Engine

/// Which attempts to deliver are counted.
@Suite struct WebhookAttemptTests {
    @Test func `if a delivery is not attempted, no attempt is counted and the delivery stays due`()
        async throws
    {
        let now = Instant(milliseconds: 1_795_248_000_000)
        let answers = Mutex<[WebhookAnswer]>([.notAttempted, .answer(status: 200)])
        var birds = AppSettings(
            id: "birds", bundleID: "com.example.birds", entitlements: ["pro": ["pro.monthly"]])
        birds.webhooks.endpoints = [
            ConfiguredWebhook(
                id: "crm", settings: WebhookSettings(url: "https://example.com/"), secrets: [])
        ]
        let transport = WebhookTransport(
            holder: "test", render: { _ in [[1]] },
            post: { _ in answers.withLock { $0.removeFirst() } }, newSecret: { "" },
            isSecret: { _ in true })
        let engine = Engine(
            database: try SQLiteDriver.inMemory(), apps: [birds],
            verifiers: ["birds": Verifier(roots: .apple)], now: { now }, webhooks: transport,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        try await engine.prepare()
        try await engine.webhooks.prepare()
        _ = try await engine.grants.add(
            NewGrant(entitlement: "pro", reason: "test"), to: "anna", app: "birds",
            environment: .production)
        try await engine.events.numberEvents()
        let webhook = try await engine.webhooks.find("crm", of: "birds")
        #expect(try await engine.webhooks.enqueueDeliveries(to: webhook) == 1)
        for (state, attempts) in [(StoredDelivery.State.waiting, 0), (.delivered, 1)] {
            #expect(try await engine.webhooks.deliverDue(to: webhook) == 1)
            let found = try await engine.webhooks.deliveries(
                to: "crm", of: "birds", in: nil, customer: nil, after: nil, limit: 10)
            #expect(found.map(\.state) == [state] && found.map(\.attempts) == [attempts])
        }
    }
}
