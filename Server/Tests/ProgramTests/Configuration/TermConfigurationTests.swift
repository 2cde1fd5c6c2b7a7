import Foundation
import Ledger
import Testing

@testable import Program

@Suite struct TermConfigurationTests {
    private func terms(_ text: String) throws(ConfigurationFailure) -> TermRules? {
        let lines = text.split(separator: "\n").map { "    \($0)" }
        let app = ["apps:", "  a:", "    bundle_id: x"] + lines
        let file = try ConfigurationFile(app.joined(separator: "\n")) { _ in nil }
        return file.apps.first?.settings.terms
    }

    @Test(arguments: [
        ("P1M", 1, 0), ("P1Y", 12, 0), ("P2W", 0, 14), ("P30D", 0, 30), ("P1Y6M1W2D", 18, 9),
    ]) func `the configuration of a product says how long its term lasts`(
        text: String, months: Int, days: Int
    ) throws {
        let rules = try #require(try terms("products: {p: {entitlements: [e], term: \(text)}}"))
        #expect(rules.products["p"]?.length == Term.Length(months: months, days: days))
        #expect(rules.clock == .utc && rules.overlap == .stack)
    }

    @Test
    func `bonus days are part of a term, and products with the same entitlements form one chain`()
        throws
    {
        let rules = try #require(
            try terms(
                """
                products:
                  month: {entitlements: [e, f], term: P1M, bonus_days: 2}
                  year: {entitlements: [f, e], term: P1Y}
                  day: {entitlements: [e], term: P1D}
                  own: {entitlements: [e, f], term: P1M, chain: mine}
                  bare: {term: P1M}
                  none: [e]
                terms: {overlap: extend}
                """))
        #expect(rules.products["month"]?.length == Term.Length(months: 1, days: 2))
        #expect(
            rules.products.mapValues(\.chain) == [
                "month": "e, f", "year": "e, f", "day": "e", "own": "mine", "bare": "bare",
            ])
        #expect(rules.overlap == .extend)
    }

    /// Compares our arithmetic with Foundation's calendar, which does not share any code with ours.
    @Test(arguments: ["Europe/Vienna", "America/Los_Angeles", "Australia/Lord_Howe", "Asia/Tehran"])
    func `our time zones agree with the machine's time zone database`(
        place: String
    ) throws {
        let rules = try #require(try terms("terms: {time_zone: \(place)}"))
        let zone = try #require(TimeZone(identifier: place))
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = zone
        for day in stride(from: 1_735_700_000, to: 1_900_000_000, by: 86_400 * 3) {
            let date = Date(timeIntervalSince1970: Double(day))
            let expected = try #require(calendar.date(byAdding: .month, value: 5, to: date))
            let found = rules.clock.moment(
                months: 5, days: 0, after: Instant(milliseconds: Int64(day) * 1000))
            #expect(found.milliseconds == Int64(expected.timeIntervalSince1970) * 1000, "\(date)")
        }
    }

    @Test func `a product without configured reminders has the reminders of the app`() throws {
        let rules = try #require(
            try terms(
                """
                products:
                  month: {entitlements: [e], term: P1M}
                  year: {entitlements: [e], term: P1Y, reminders: [P2W, P30D, P14D]}
                  day: {entitlements: [e], term: P1D, reminders: []}
                terms: {reminders: [P1D, P1W]}
                """))
        #expect(
            rules.products.mapValues(\.reminders) == [
                "month": [7, 1], "year": [30, 14], "day": [],
            ])
        let silent = try terms("products: {p: {entitlements: [e], term: P1M}}")
        #expect(silent?.hasReminders == false && rules.hasReminders)
    }

    struct Row: Sendable, CustomTestStringConvertible {
        var text: String
        var says: String
        var testDescription: String { says }
    }

    static let mistakes = [
        Row(text: "products: {p: {term: month}}", says: "“month” is not a duration of a term."),
        Row(text: "products: {p: {term: P0D}}", says: "“P0D” is not a duration of a term."),
        Row(text: "products: {p: {term: P101Y}}", says: "“P101Y” is not a duration of a term."),
        Row(text: "products: {p: {term: P1M, bonus_days: 99999}}", says: "is not valid for p."),
        Row(text: "products: {p: {bonus_days: 1}}", says: "is not valid for p."),
        Row(text: "products: {p: {chain: c}}", says: "p has a chain but no term."),
        Row(text: "products: {p: {term: P1M, bonus_day: 1}}", says: "Did you mean bonus_days?"),
        Row(text: "terms: {time_zone: Europe/Viena}", says: "Did you mean Europe/Vienna?"),
        Row(text: "terms: {reminders: P7D}", says: "reminders must be a list of durations."),
        Row(text: "terms: {reminders: [P1M]}", says: "“P1M” is not a valid reminder."),
        Row(text: "terms: {reminders: [P367D]}", says: "at most P366D."),
        Row(text: "terms: {reminders: [week]}", says: "“week” is not a duration of a term."),
        Row(text: "terms: {overlap: pile}", says: "Use one of stack, extend, refuse."),
    ]

    @Test(arguments: mistakes)
    func `a mistake in the terms of the configuration is reported with its remedy`(row: Row) throws
    {
        let failure = #expect(throws: ConfigurationFailure.self) { try terms(row.text) }
        let said = failure?.complaints.map(\.description) ?? []
        #expect(said.contains { $0.contains(row.says) }, "\(said)")
    }

    @Test(arguments: [
        ("season: [e]", "season does not renew and has no term: it gives no access."),
        ("gems: {term: P1M}", "gems has a term, but s says it needs none."),
    ]) func `a term in the configuration that does not fit the StoreKit file causes a warning`(
        products: String, says: String
    ) throws {
        let shop = """
            {"version": {"major": 4, "minor": 0}, "subscriptionGroups": [],
             "products": [{"productID": "gems", "type": "Consumable", "displayPrice": "1"}],
             "nonRenewingSubscriptions": [
               {"productID": "season", "type": "NonRenewingSubscription", "displayPrice": "1"}]}
            """
        let text = "apps:\n  a:\n    bundle_id: x\n    storekit: s\n    products:\n      "
        let file = try ConfigurationFile(text + products) { _ in Array(shop.utf8) }
        #expect(file.warnings.contains { $0.message == says }, "\(file.warnings)")
    }
}
