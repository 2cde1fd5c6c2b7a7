import AppStoreClient
import AppStoreFormats
import AsyncHTTPClient
import Foundation
import Ledger
import OutgoingHTTP
import Synchronization
import Testing

@testable import Program

/// Sends requests to the App Store, and compares the answers with the simulator's ground truth.
@Suite(.serialized) struct AppStoreClientStories {
    /// Buys on an account's first device, and returns the original transaction's id.
    private func buy(
        _ account: String, _ product: String = "pro.monthly", in shop: Shop,
        _ more: [String: JSON] = [:]
    ) async throws -> String {
        try await shop.addDevice(account, more)
        return try await shop.simulator.post(
            "/_sim/devices/\(account)-1/purchases", ["product_id": .string(product)]
        ).text("original_transaction_id")
    }

    private func payload(_ jws: String) throws -> JSON {
        try JSON(parsing: try #require(CompactJWS(jws)?.payload))
    }

    private func pass(_ duration: String, in shop: Shop) async throws {
        try await shop.simulator.post("/_sim/clock", ["advance": .string(duration)])
    }

    private func history(
        of id: String, after revision: String? = nil, in environment: StoreEnvironment, _ shop: Shop
    ) async throws -> (ids: [String], pages: Int, revision: String?) {
        var pages = shop.appStore.historyPages(of: id, in: environment, after: revision)
        var (ids, count, last) = ([String](), 0, revision)
        while let page = try await pages.next() {
            ids += try page.signedTransactions.map { try payload($0).text("transactionId") }
            (count, last) = (count + 1, page.revision)
        }
        return (ids, count, last)
    }

    @Test func `without notifications, the App Store's API returns a purchase and its renewal`()
        async throws
    {
        try await withShop(on: .sqlite, notifies: false) { shop in
            let id = try await buy("anna", in: shop)
            try await pass("P40D", in: shop)
            let transaction = try payload(try await shop.appStore.transaction(id, in: .production))
            #expect(transaction["productId"] == "pro.monthly")
            let statuses = try await shop.appStore.statuses(of: id, in: .production)
            let status = try #require(statuses.first)
            #expect(statuses.count == 1 && status.originalTransactionId == id)
            #expect(status.status == .active)
            let latest = try payload(status.signedTransactionInfo)
            #expect(latest["transactionReason"] == "RENEWAL")
            let truth = try await shop.simulator.get("/_sim/truth/anna")
            let until = try #require(truth["purchases"]?.array?.first).text("until")
            let ends = Instant(milliseconds: latest["expiresDate"]?.integer ?? 0)
            #expect("\(ends)" == until)
            #expect(try payload(status.signedRenewalInfo)["autoRenewStatus"] == 1)
        }
    }

    @Test
    func `a transaction history of two pages is complete, and a later read returns only changes`()
        async throws
    {
        try await withShop(on: .sqlite, notifies: false) { shop in
            let id = try await buy("anna", in: shop)
            try await pass("P760D", in: shop)
            let all = try await history(of: id, in: .production, shop)
            #expect(all.ids.count == 25 && Set(all.ids).count == 25 && all.pages == 2)
            try await pass("P20D", in: shop)
            try await shop.simulator.post("/_sim/transactions/\(id)/refund")
            let new = try await history(of: id, after: all.revision, in: .production, shop)
            // These are the renewal since then, and the first transaction, which was refunded.
            #expect(new.ids.count == 2 && new.ids.contains(id) && new.pages == 1)
            // A revision that the App Store does not know returns the whole history.
            let anew = try await history(of: id, after: "gone", in: .production, shop)
            #expect(anew.ids.count == 26)
        }
    }

    @Test func `each purchase is found in the environment where it was made`() async throws {
        try await withShop(on: .sqlite) { shop in
            let real = try await buy("anna", in: shop)
            let tried = try await buy("ben", in: shop, ["environment": "sandbox"])
            #expect(try await shop.appStore.findEnvironment(real) == .production)
            #expect(try await shop.appStore.findEnvironment(tried) == .sandbox)
            await #expect(throws: AppStoreFailure.unknownID) {
                try await shop.appStore.findEnvironment("1")
            }
        }
    }

    @Test func `lost notifications can all be read from the notification history`() async throws {
        try await withShop(on: .sqlite, notifies: false) { shop in
            for number in 1...25 { _ = try await buy("customer\(number)", in: shop) }
            try await shop.simulator.post("/_sim/faults", ["notifications": ["drop": 0]])
            _ = try await buy("anna", in: shop)
            let sent = try await shop.simulator.get("/_sim/notifications")
            let all = try (sent["notifications"]?.array ?? []).map {
                try $0.text("signed_payload")
            }
            let now =
                shop.appStore.earliestNotification(in: .production).milliseconds
                + 180 * 86_400_000
            func notifications(onlyFailures: Bool) async throws -> [String] {
                var pages = shop.appStore.notificationPages(
                    from: AppStoreDate(milliseconds: 0), to: AppStoreDate(milliseconds: now),
                    onlyFailures: onlyFailures, in: .production)
                var payloads: [String] = []
                while let page = try await pages.next() { payloads += page.signedPayloads }
                return payloads
            }
            #expect(all.count == 26)
            #expect(try await notifications(onlyFailures: false) == all)
            #expect(try await notifications(onlyFailures: true) == Array(all.dropLast()))
            // A truncated token starts the list again.
            try await shop.simulator.post("/_sim/faults", ["next": ["api": "expired_token"]])
            #expect(try await notifications(onlyFailures: false).suffix(26) == all[...])
        }
    }

    @Test func `a test notification is requested, delivered and looked up`() async throws {
        try await withShop(on: .sqlite) { shop in
            let token = try await shop.appStore.sendTestNotification(in: .production)
            let status = try await shop.appStore.testNotificationStatus(token, in: .production)
            #expect(status.results == ["SUCCESS"])
            #expect(try payload(status.signedPayload)["notificationType"] == "TEST")
            await #expect(
                throws: AppStoreFailure.refused(
                    code: 4_040_008, message: "Test notification not found.")
            ) {
                let other = "00000000-0000-4000-8000-000000000000_1"
                _ = try await shop.appStore.testNotificationStatus(other, in: .production)
            }
        }
    }

    @Test func `Apple follows the refund preference in the app's consumption data`() async throws {
        try await withShop(on: .sqlite) { shop in
            for (account, preference, isOpen) in [
                ("anna", Consumption.Preference.decline, true), ("ben", .grantFull, false),
            ] {
                let id = try await buy(account, in: shop)
                try await shop.simulator.post("/_sim/transactions/\(id)/request-refund")
                let consumption = Consumption(
                    delivery: .delivered(consumedMilliunits: nil), hadSample: false,
                    preference: preference)
                try await shop.appStore.sendConsumption(consumption, of: id, in: .production)
                try await pass("P3D", in: shop)
                let truth = try await shop.simulator.get("/_sim/truth/\(account)")
                #expect(truth["purchases"]?.array?.first?["open"] == .bool(isOpen))
            }
        }
    }

    @Test
    func `two renewal extensions move the renewal date, and a third extension is refused`()
        async throws
    {
        try await withShop(on: .sqlite) { shop in
            let id = try await buy("anna", in: shop)
            for number in 1...2 {
                let wish = RenewalExtension(days: 10, reason: .outage, requestID: "wish\(number)")
                let renews = try await shop.appStore.extend(id, by: wish, in: .production)
                let truth = try await shop.simulator.get("/_sim/truth/anna")
                let until = try #require(truth["purchases"]?.array?.first).text("until")
                #expect("\(Instant(milliseconds: renews.milliseconds))" == until)
            }
            let wish = RenewalExtension(days: 10, reason: .outage, requestID: "wish3")
            let failure = await #expect(throws: AppStoreFailure.self) {
                try await shop.appStore.extend(id, by: wish, in: .production)
            }
            #expect(failure?.remedy.contains("365 days") == true)
        }
    }

    @Test(arguments: [
        ("unauthorized", "The App Store does not accept the key SIMULATOR1."),
        ("not_found", "The App Store does not know this id."),
        ("rate_limit", "allows no call until"), ("error", "5000000"),
        ("retryable_error", "5000001"),
    ])
    func `each failure of the App Store gets its own error message, and the next call succeeds`(
        fault: String, says: String
    ) async throws {
        try await withShop(on: .sqlite) { shop in
            let id = try await buy("anna", in: shop)
            try await shop.simulator.post("/_sim/faults", ["next": ["api": .string(fault)]])
            let failure = await #expect(throws: AppStoreFailure.self) {
                try await shop.appStore.statuses(of: id, in: .production)
            }
            #expect(failure?.description.contains(says) == true, "\(String(describing: failure))")
            #expect(try await shop.appStore.statuses(of: id, in: .production).count == 1)
        }
    }

    @Test func `our client's rate limit keeps requests below the App Store's limit`() async throws {
        try await withShop(on: .sqlite) { shop in
            try await shop.simulator.post("/_sim/reset", ["api_rate_limits": "real"])
            let id = try await buy("anna", in: shop)
            let told = Mutex(0)
            let paces = RateLimiter.inProcess()
            let pacing = RateLimiter(turn: paces.turn) { endpoint, environment, until in
                told.withLock { $0 += 1 }
                try await paces.rest(endpoint, environment, until)
            }
            let http = HTTPClient(
                eventLoopGroupProvider: .singleton, configuration: .withoutRedirects)
            let client = AppStoreClient(
                try AppStoreCredentials.simulated(bundleID: "com.example.birds"),
                now: { AppStoreDate(milliseconds: Instant.machine.milliseconds) }, pacing: pacing,
                send: httpSender(http, hosts: .simulator(shop.simulator.base)))
            var answers = 0
            while answers < 120 {
                do {
                    _ = try await client.transaction(id, in: .production)
                    answers += 1
                } catch AppStoreFailure.rateLimited {
                    try await Task.sleep(for: .milliseconds(5))
                }
            }
            try await http.shutdown()
            #expect(told.withLock { $0 } == 0)
        }
    }

    // MARK: - perennial check

    @Test(arguments: [
        (true, "ok    App Store of birds: key SIMULATOR1 is accepted"), (false, "DO"),
    ])
    func `perennial check says whether the App Store accepts a key`(isRight: Bool, says: String)
        async throws
    {
        try await withShop(on: .sqlite) { shop in
            let folder = try TemporaryFolder()
            defer { folder.remove() }
            let key = try await shop.simulator.get("/_sim/api-key")
            let issuer = isRight ? try key.text("issuer_id") : "somebody-else"
            try Data(key.text("private_key").utf8).write(
                to: URL(fileURLWithPath: folder.path + "/key.p8"))
            let text = """
                apps:
                  birds:
                    bundle_id: \(try key.text("bundle_id"))
                    simulated: true
                    products: {}
                    app_store:
                      key_id: \(try key.text("key_id"))
                      issuer_id: \(issuer)
                      private_key_file: key.p8
                      production_url: \(shop.simulator.base)
                """
            let path = folder.path + "/perennial.yaml"
            try Data(text.utf8).write(to: URL(fileURLWithPath: path))
            let options = try ProcessOptions.parse([
                "--config", path, "--database", folder.path + "/check.sqlite",
            ])
            let report = await CheckReport(options)
            let line = report.lines.first { $0.contains("App Store of") || $0.contains("the key") }
            #expect(line?.hasPrefix(says) == true, "\(report.lines)")
        }
    }
}
