import Foundation
import Ledger
import Testing

@Suite struct TermTests {
    @Test(arguments: try TermTable.rows("terms"))
    func `purchases result in the terms of the table`(row: TermTable.Row) throws {
        let expected = try stretches(row)
        for timelines in [try row.timelines, try row.timelines.reversed()] {
            let shown = row.rules.displayed(row.rules.terms(of: timelines))
            #expect(shown.map(Stretch.init) == expected)
        }
    }

    @Test func `if several terms are displayed as one, the entitlements of each product stay open`()
        throws
    {
        let start = Instant(milliseconds: 1_700_000_000_000)
        let rules = TermRules(
            products: [
                "basic": .init(length: Term.Length(months: 1, days: 0), chain: "c"),
                "plus": .init(length: Term.Length(months: 1, days: 0), chain: "c"),
            ], overlap: .extend)
        let timelines = [("1", "plus", 0), ("2", "basic", 5)].map { id, product, day in
            let purchase = PurchaseID(TransactionID(rawValue: id), in: .production)
            let payment = Payment(
                transaction: TransactionID(rawValue: id), product: ProductID(rawValue: product),
                kind: .nonRenewing, from: start + .days(day), until: nil)
            return Timeline(
                of: purchase, [Fact(about: purchase, attestedAt: payment.from, .payment(payment))])
        }
        let terms = rules.terms(of: timelines)
        #expect(terms.count == 2)
        #expect(rules.displayed(terms).count == 1)
        let plus = Entitlement.access(
            through: ["plus"], of: timelines, terms, at: start + .days(6), rules: AccessRules())
        #expect(plus?.isOpen == true)
    }

    @Test func `a transaction that is in two purchases is one term`() {
        let start = Instant(milliseconds: 1_700_000_000_000)
        let rules = TermRules(
            products: ["basic": .init(length: Term.Length(months: 1, days: 0), chain: "c")])
        let payment = Payment(
            transaction: "2", product: "basic", kind: .nonRenewing, from: start, until: nil)
        let timelines = ["1", "2"].map { original in
            let purchase = PurchaseID(TransactionID(rawValue: original), in: .sandbox)
            return Timeline(
                of: purchase, [Fact(about: purchase, attestedAt: start, .payment(payment))])
        }
        #expect(rules.terms(of: timelines).count == 1)
    }

    private func stretches(_ row: TermTable.Row) throws -> [Stretch] {
        guard row.expected != "nothing" else { return [] }
        return try row.expected.components(separatedBy: ", ").map { text in
            let match = try #require(text.wholeMatch(of: #/(\S+) (.+)\.\.(.+)/#)?.output)
            return Stretch(
                product: String(match.1), from: try row.moment(String(match.2)),
                until: try row.moment(String(match.3)))
        }
    }

    @Test(arguments: try TermTable.rows("reminders"))
    func `reminders are due at the times in the table`(row: TermTable.Row) throws {
        let expected = row.expected == "nothing" ? [] : row.expected.components(separatedBy: ", ")
        let found = try row.rules.reminders(of: row.rules.terms(of: row.timelines))
        #expect(found.count == expected.count)
        for (reminder, text) in zip(found, expected) {
            let match = try #require(text.wholeMatch(of: #/(\d+) @ (.+) for (.+)/#)?.output)
            #expect(reminder.ending.daysBefore == Int(match.1))
            #expect(reminder.dueAt == (try row.moment(String(match.2))), "\(text)")
            #expect(reminder.ending.until == (try row.moment(String(match.3))), "\(text)")
        }
    }

    @Test func `a reminder names the chain of terms and its last purchase`() throws {
        let rows = try TermTable.rows("reminders")
        let row = try #require(rows.first { $0.claim.hasPrefix("only the end") })
        let told = try row.rules.reminders(of: row.rules.terms(of: row.timelines))
        let first = try #require(told.first)
        #expect(first.ending.from == (try row.moment("2026-03-15 12:00")))
        #expect(first.payment.transaction == "101" && first.purchase.original == "101")
        #expect(first.ending.chain == "all")
    }

    @Test func `the tables of terms have the expected number of rows`() throws {
        #expect(try TermTable.rows("terms").count >= 60)
        #expect(try TermTable.rows("term-access").count >= 18)
        #expect(try TermTable.rows("reminders").count >= 17)
    }

    private struct Stretch: Equatable, CustomStringConvertible {
        var product: String
        var from: Instant
        var until: Instant
        var description: String { "\(product) \(from.minute)..\(until.minute)" }

        init(product: String, from: Instant, until: Instant) {
            self.product = product
            self.from = from
            self.until = until
        }

        init(_ term: Term) {
            self.init(product: term.product.rawValue, from: term.from, until: term.until)
        }
    }

    @Test(arguments: try TermTable.rows("term-access"))
    func `terms give the access in the table`(row: TermTable.Row) throws {
        let parts = row.bought.components(separatedBy: " @ ")
        var row = row
        row.bought = parts[0]
        let now = try row.moment(parts[1])
        let rules = row.rules
        let terms = try rules.terms(of: row.timelines)
        let access = Entitlement.access(
            through: Set(TermTable.products.keys).subtracting(["day"]), of: try row.timelines,
            terms, at: now, rules: AccessRules())
        guard row.expected != "nothing" else {
            #expect(access == nil)
            return
        }
        let match = try #require(row.expected.wholeMatch(of: #/(\w+) (.+) (\d+)/#)?.output)
        #expect(access?.state.rawValue == String(match.1))
        #expect(access?.until == (try row.moment(String(match.2))))
        #expect(access?.willRenew == false)
        let running = terms.first { $0.purchase == access?.purchase && $0.until > now }
        #expect((running?.daysRemaining(at: now, by: rules.clock) ?? 0) == Int(match.3))
    }
}
