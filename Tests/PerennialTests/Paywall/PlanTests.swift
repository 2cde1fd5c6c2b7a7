import Foundation
import Testing

@testable import Perennial

/// A subscription for a year, paid at once, or by the month with a commitment to pay the whole
/// year.
@Suite struct PlanTests {
    private static let atOnce = Perennial.Plan(
        kind: .upFront, billingPrice: 99.99, displayPrice: "99,99 €",
        billingPeriod: .init(1, .year), totalDisplayPrice: "99,99 €", totalPeriod: .init(1, .year))
    private static let promised = Perennial.Plan(
        kind: .monthly, billingPrice: 9.99, displayPrice: "9,99 €",
        billingPeriod: .init(1, .month), totalDisplayPrice: "119,88 €",
        totalPeriod: .init(1, .year), offers: [RageShop.week])

    private func row(
        _ snapshot: Perennial.Snapshot = RageShop.snapshot(),
        _ plans: [Perennial.Plan] = [atOnce, promised], in locale: String = "en_GB"
    ) throws -> Perennial.PaywallContent.Row {
        var yearly = RageShop.yearly
        yearly.plans = plans
        let offering = Perennial.Offering(id: "shop", products: [yearly, RageShop.monthly])
        return try #require(RageShop.paywallContent(snapshot, in: locale, of: offering).rows.first)
    }

    @Test func `each plan has its price, and a commitment states its total price`() throws {
        let plans = try row().plans
        #expect(plans.map(\.title) == ["1 payment", "12 payments"])
        #expect(plans.map(\.terms) == ["99,99 € a year", "9,99 € a month"])
        #expect(plans.map(\.total) == [nil, "119,88 € in all for 1 year"])
        #expect(plans.map(\.plan.kind) == [.upFront, .monthly])
        #expect(plans[0].disclosure.hasPrefix("99,99 € a year. Renews automatically"))
        #expect(
            plans[1].disclosure == """
                12 payments of 9,99 €, 119,88 € in all. You agree to make all of them, also if you \
                cancel earlier. Renews automatically for 1 year until you cancel it, at least 24 \
                hours before the end, in the settings of your Apple account.
                """)
    }

    @Test func `a trial is shown with the plan that has it, to eligible customers only`() throws {
        #expect(
            try row().plans.map(\.trial) == [nil, "1 week free, then 9,99 € a month"])
        var refused = Self.promised
        refused.offers[0].isEligible = false
        #expect(
            try row(RageShop.snapshot(), [Self.atOnce, refused]).plans.allSatisfy {
                $0.trial == nil
            })
        // A customer who changes from another product gets no trial.
        let switching = try row(RageShop.plan())
        #expect(switching.action == .switchPlan && switching.plans.count == 2)
        #expect(switching.plans.allSatisfy { $0.trial == nil })
    }

    @Test func `plans are shown only if there is a choice or a commitment`() throws {
        #expect(try row(RageShop.snapshot(), []).plans == [])
        #expect(try row(RageShop.snapshot(), [Self.atOnce]).plans == [])
        #expect(try row(RageShop.snapshot(), [Self.promised]).plans.count == 1)
        #expect(try row(RageShop.snapshot(isKnown: false)).plans == [])
        let held = RageShop.plan { $0.product = "yearly" }
        #expect(try row(held).action == .owned && row(held).plans == [])
        // The row itself has the price and the texts of the plan that is paid at once.
        let plain = try row()
        #expect(plain.terms == "19,99 € a year" && plain.disclosure != nil)
    }

    @Test func `a plan states its number of payments if that is a whole number`() {
        func payments(_ one: Perennial.Period, _ whole: Perennial.Period) -> Int? {
            var plan = Self.promised
            (plan.billingPeriod, plan.totalPeriod) = (one, whole)
            return plan.payments
        }
        #expect(payments(.init(1, .month), .init(1, .year)) == 12)
        #expect(payments(.init(3, .month), .init(1, .year)) == 4)
        #expect(payments(.init(1, .week), .init(28, .day)) == 4)
        #expect(payments(.init(1, .year), .init(1, .year)) == 1)
        #expect(payments(.init(5, .month), .init(1, .year)) == nil)
        #expect(payments(.init(1, .week), .init(1, .month)) == nil)
        #expect(payments(.init(0, .month), .init(1, .year)) == nil)
        #expect(payments(.init(1, .init(rawValue: "era")), .init(1, .year)) == nil)
    }

    @Test func `without a number of payments a plan still states its total price`() throws {
        var odd = Self.promised
        odd.billingPeriod = .init(1, .week)
        let plan = try #require(try row(RageShop.snapshot(), [odd]).plans.first)
        #expect(plan.title == "9,99 € a week")
        #expect(
            plan.disclosure.hasPrefix("9,99 € a week, 119,88 € in all for 1 year. Renews"))
    }

    @Test(arguments: [
        ("de_DE", "12 Zahlungen", "Insgesamt 119,88 € für 1 Jahr", "12 Zahlungen von 9,99 €,"),
        ("fr_FR", "12 paiements", "119,88 € au total pour 1 an", "12 paiements de 9,99 €,"),
        ("es_ES", "12 pagos", "119,88 € en total por 1 año", "12 pagos de 9,99 €,"),
        ("ja_JP", "12回払い", "合計119,88 €（1年間）", "9,99 €を12回、合計119,88 €"),
    ])
    func `a customer reads the text of the commitment in the customer's language`(
        _ locale: String, _ title: String, _ total: String, _ disclosure: String
    ) throws {
        let plan = try #require(try row(in: locale).plans.last)
        #expect(plan.title == title)
        #expect(plan.total == total)
        #expect(plan.disclosure.hasPrefix(disclosure))
        #expect(plan.disclosure.contains("119,88 €"))
    }
}
