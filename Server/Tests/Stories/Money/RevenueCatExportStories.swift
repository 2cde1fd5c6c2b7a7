import Engine
import Ledger
import Testing

/// Transactions in the columns of RevenueCat's scheduled export.
@Suite(.serialized) struct RevenueCatExportStories {
    /// The columns that RevenueCat's page "Data Export Version 5" lists.
    private static let columns = """
        rc_original_app_user_id, rc_last_seen_app_user_id_alias, country, country_source, \
        product_identifier, product_display_name, product_duration, start_time, end_time, \
        grace_period_end_time, effective_end_time, store, is_auto_renewable, is_trial_period, \
        is_in_intro_offer_period, is_sandbox, price_in_usd, purchase_price_in_usd, \
        takehome_percentage, tax_percentage, commission_percentage, store_transaction_id, \
        original_store_transaction_id, refunded_at, unsubscribe_detected_at, \
        billing_issues_detected_at, purchased_currency, price_in_purchased_currency, \
        purchase_price_in_purchased_currency, entitlement_identifiers, renewal_number, \
        is_trial_conversion, presented_offering, ownership_type, reserved_subscriber_attributes, \
        custom_subscriber_attributes, platform, experiment_id, experiment_variant, updated_at, \
        offer, offer_type, first_seen_time, auto_resume_time
        """

    @Test(arguments: StoryDatabase.allCases)
    func `on both databases, each transaction is exported as a row with RevenueCat's columns`(
        database: StoryDatabase
    ) async throws {
        #expect(RevenueCatExport.columns.joined(separator: ", ") == Self.columns)
        try await withShop(on: database) { shop in
            try await MoneyQueryStories.play(in: shop)
            _ = try await shop.engine.attributes.change(
                [
                    AttributeChange(name: "$email", value: "anna@example.com"),
                    AttributeChange(name: "bird", value: "owl"),
                ], of: "anna", by: .server, isWhole: true, app: "birds")
            var rows: [[String: ExportedValue]] = []
            try await shop.engine.reporting.exportForRevenueCat(
                of: "birds", in: .production, since: nil
            ) { values in
                #expect(values.count == RevenueCatExport.columns.count)
                rows.append(Dictionary(uniqueKeysWithValues: zip(RevenueCatExport.columns, values)))
            }
            func row(_ customer: String, _ number: Int64) throws -> [String: ExportedValue] {
                try #require(
                    rows.first {
                        $0["rc_original_app_user_id"] == .text(customer)
                            && $0["renewal_number"] == .number(number)
                    }, "\(customer) \(number) of \(rows.count)")
            }
            #expect(rows.count == 6)
            let renewed = try row("anna", 2)
            #expect(renewed["product_identifier"] == .text("pro.monthly"))
            #expect(renewed["product_duration"] == .text("P1M"))
            #expect(renewed["is_auto_renewable"] == .text("true"))
            #expect(renewed["is_trial_conversion"] == .text("false"))
            #expect(renewed["commission_percentage"] == .text("0.3000"))
            #expect(renewed["entitlement_identifiers"] == .text("[\"plus\", \"pro\"]"))
            #expect(renewed["ownership_type"] == .text("PURCHASED"))
            #expect(renewed["price_in_purchased_currency"] == .text("9.99"))
            for (column, value) in [("reserved", "anna@example.com"), ("custom", "owl")] {
                let text = "\(renewed["\(column)_subscriber_attributes"] ?? .none)"
                #expect(text.contains(value) && text.contains("updated_at_ms"), "\(text)")
            }
            let refunded = try row("ben", 1)
            #expect(refunded["custom_subscriber_attributes"] == .text("{}"))
            #expect(refunded["price_in_purchased_currency"] == .text("0.00"))
            #expect(refunded["purchase_price_in_purchased_currency"] == .text("9.99"))
            #expect(refunded["refunded_at"] == refunded["effective_end_time"])
            #expect(try row("cleo", 1)["billing_issues_detected_at"] != ExportedValue.none)
            #expect(try row("cleo", 1)["grace_period_end_time"] != ExportedValue.none)
            #expect(try row("dora", 2)["unsubscribe_detected_at"] != ExportedValue.none)
            #expect(renewed["unsubscribe_detected_at"] == ExportedValue.none)
        }
    }
    @Test(arguments: StoryDatabase.allCases)
    func `the first payment after a trial is a conversion, even if an export omits the trial`(
        database: StoryDatabase
    ) async throws {
        try await withShop(on: database) { shop in
            try await shop.addDevice("anna")
            let bought = try await shop.simulator.post(
                "/_sim/devices/anna-1/purchases", ["product_id": "pro.yearly"])
            #expect(try await shop.post(bought, as: "anna") == 200)
            try await shop.simulator.post("/_sim/clock", ["advance": "P10D"])
            let start = Instant(milliseconds: 1_767_225_600_000)
            for (since, flags) in [(nil, ["false", "true"]), (start + .days(3), ["true"])] {
                var found: [ExportedValue] = []
                try await shop.engine.reporting.exportForRevenueCat(
                    of: "birds", in: .production, since: since
                ) { values in
                    let place = RevenueCatExport.columns.firstIndex(of: "is_trial_conversion")
                    found += place.map { [values[$0]] } ?? []
                }
                #expect(found == flags.map { .text($0) }, "since \(String(describing: since))")
            }
        }
    }
}
