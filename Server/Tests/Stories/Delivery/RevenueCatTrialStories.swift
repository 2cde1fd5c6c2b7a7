import AppStoreFormats
import Engine
import Ledger
import Simulator
import Storage
import Testing

@testable import Program

/// Free periods and the payments after them, in each output.
@Suite(.serialized) struct RevenueCatTrialStories {
    @Test(arguments: StoryDatabase.allCases)
    func `the first payment after a trial is a conversion in webhook, export and report`(
        database: StoryDatabase
    ) async throws {
        let receiver = try Receiver()
        var app = birds
        app.settings.webhooks.endpoints = [
            ConfiguredWebhook(
                id: "crm", settings: WebhookSettings(url: receiver.url, format: .revenueCat),
                secrets: [webhookSecret])
        ]
        try await withShop(on: database, app: app) { shop in
            let names = ["anna", "ben", "cleo", "dora"]
            for name in names {
                try await shop.addDevice(name)
                let bought = try await shop.simulator.post(
                    "/_sim/devices/\(name)-1/purchases", ["product_id": "pro.yearly"])
                #expect(try await shop.post(bought, as: name) == 200)
            }
            func act(_ name: String, _ act: String, _ body: JSON = [:]) async throws {
                try await shop.simulator.post(
                    "/_sim/subscriptions/\(name):pro.yearly/\(act)", body)
            }
            try await act("anna", "fail-billing")
            try await act("ben", "change-product", ["product_id": "pro.monthly"])
            try await shop.advance("P3D")
            try await act("cleo", "change-product", ["product_id": "premium.monthly"])
            try await shop.advance("P5D")
            try await act("anna", "recover-billing")
            try await shop.advance("P1D")
            let events = receiver.postings.compactMap {
                (try? JSON(parsing: $0.body))?["event"]
            }
            for name in names {
                let theirs = events.filter { $0["app_user_id"]?.string == name }
                let paid = theirs.filter { $0["type"] == "RENEWAL" }
                #expect(paid.map { $0["is_trial_conversion"] } == [true], "\(name) \(paid)")
                #expect(paid.map { $0["renewal_number"] } == [2], "\(name)")
                let began = theirs.filter { $0["type"] == "INITIAL_PURCHASE" }
                #expect(began.map { $0["period_type"] } == ["TRIAL"], "\(name)")
                #expect(began.map { $0["price_in_purchased_currency"] } == [0], "\(name)")
            }
            let flags = try await shop.exported("is_trial_conversion")
            #expect(flags.filter { $0 == .text("true") }.count == names.count)
            #expect(flags.count == 2 * names.count)
            for profile in ["", "&profile=revenuecat"] {
                let report = try await shop.support.get(
                    "/v1/reports/trial_conversion?from=2026-01-01&to=2026-01-31&by=month\(profile)")
                let values = report["rows"]?.array?.first?["values"]?.array ?? []
                #expect(values.prefix(2) == ["4", "4"], "\(report)")
            }
        }
    }

    @Test
    func `a free period from an offer code is a trial in access, webhooks, events and export`()
        async throws
    {
        let webhooks = PostedWebhooks()
        try await DirectShop.open(webhooks: webhooks) { shop in
            // Ben has subscribed before and comes back with the code. Anna has not subscribed
            // before.
            for (name, isNew) in [("ben", false), ("anna", true)] {
                try await shop.store.addDevice(account: name)
                if !isNew {
                    try await shop.subscribe(name, PurchaseOrder.noOffer, months: 1)
                    try await shop.pass("P40D")
                }
                try await shop.subscribe(name, "code.free", months: 2)
                let state = try await shop.engine.customers.find(
                    CustomerID(rawValue: name), app: DirectShop.app, environment: .production)
                #expect(state.purchases.map { $0.access?.state } == [.trial], "\(name)")
                let truth = try await shop.store.groundTruth(of: name).purchases
                #expect(truth.map(\.state) == [.trial])
            }
            // Two months are free with the code.
            try await shop.pass("P63D")
            try await shop.deliver()
            let events = webhooks.take()
            for (name, types, number) in [
                ("anna", ["INITIAL_PURCHASE", "RENEWAL", "RENEWAL"], Int64(2)),
                ("ben", ["INITIAL_PURCHASE", "RENEWAL", "RENEWAL", "RENEWAL"], 3),
            ] {
                let theirs = events.filter {
                    $0["app_user_id"]?.string == name
                        && ["INITIAL_PURCHASE", "RENEWAL"].contains($0["type"])
                }
                #expect(theirs.compactMap { $0["type"]?.string } == types, "\(name)")
                let (free, paid) = (theirs[theirs.count - 2], theirs[theirs.count - 1])
                #expect(free["period_type"] == "TRIAL" && free["offer_code"] == "code.free")
                #expect(free["price"] == 0 && free["price_in_purchased_currency"] == 0)
                #expect(paid["is_trial_conversion"] == true, "\(name)")
                #expect(paid["renewal_number"]?.integer == number + 1, "\(name)")
                #expect(paid["period_type"] == "NORMAL" && paid["price"] == .decimal("9.99"))
            }
            let log = try await LogCheck(engine: shop.engine, app: DirectShop.app).events()
            let kinds = log.map(\.entry.change.kind)
            #expect(kinds.filter { $0 == .trialStarted }.count == 1)
            #expect(kinds.filter { $0 == .trialConverted }.count == 2)
            let columns = ["is_trial_period", "is_in_intro_offer_period", "is_trial_conversion"]
            var counts: [Int] = []
            for column in columns {
                counts.append(try await shop.exported(column).count { $0 == "true" })
            }
            #expect(counts == [4, 0, 2])
        }
    }
}

extension Shop {
    /// A column of the export in RevenueCat's form.
    fileprivate func exported(_ column: String) async throws -> [ExportedValue] {
        var found: [ExportedValue] = []
        try await engine.reporting.exportForRevenueCat(of: "birds", in: .production, since: nil) {
            values in
            if let place = RevenueCatExport.columns.firstIndex(of: column) {
                found.append(values[place])
            }
        }
        return found
    }
}

extension DirectShop {
    /// Subscribes an account whose app posts the purchase, and switches renewal off so that exactly
    /// this number of months is paid.
    fileprivate func subscribe(_ name: String, _ offer: String, months: Int) async throws {
        let bought = try await store.purchase(
            PurchaseOrder("tiers.silver", offerID: offer), on: "\(name)-1")
        let signed = try await store.transactions(on: "\(name)-1").last
        _ = try await engine.recording.record(
            PurchaseEvidence(signedTransactions: [try #require(signed)]),
            of: CustomerID(rawValue: name), app: Self.app)
        if months == 1 { try await store.change(bought.originalTransactionID, .cancel) }
    }

    fileprivate func pass(_ time: String) async throws {
        try await store.advance(by: try #require(ISODuration(time)))
    }

    /// The values of a column of the export in RevenueCat's form.
    fileprivate func exported(_ column: String) async throws -> [String] {
        var found: [String] = []
        try await engine.reporting.exportForRevenueCat(of: Self.app, in: .production, since: nil) {
            values in
            guard let place = RevenueCatExport.columns.firstIndex(of: column),
                case .text(let text) = values[place]
            else { return }
            found.append(text)
        }
        return found
    }
}
