import Ledger
import Testing

/// Which offers a customer may use, depending on the customer's purchases.
@Suite struct OfferCatalogueTests {
    private static let now = Instant(milliseconds: 1_700_000_000_000)
    private static let catalogue = OfferCatalogue(products: [
        "pro.monthly": .init(
            group: "G", hasIntroductory: true, promotional: ["promo"], winBack: ["back"],
            codes: [
                .init(id: "NEW", customers: [.new]), .init(id: "OLD", customers: [.lapsed]),
                .init(id: "ALL", customers: [.new, .subscribed, .lapsed]),
            ]),
        "other.monthly": .init(group: "H", hasIntroductory: true),
        "pro.yearly": .init(group: "G"),
    ])

    private struct Bought {
        var daysAgo = 10
        var terms = Terms.full
        var offer: Offer?
        var ownership = Ledger.Ownership.purchased
        var isRefunded = false
        var group: String? = "G"
        var product: ProductID = "pro.yearly"
    }

    private func why(_ bought: [Bought], _ name: String) -> OfferEligibility.Reason? {
        let timelines = bought.enumerated().map { index, one in
            let id = TransactionID(rawValue: "\(index)")
            let from = Self.now - .days(one.daysAgo)
            let payment = Payment(
                transaction: id, product: one.product, from: from, until: from + .days(30),
                terms: one.terms, offer: one.offer, ownership: one.ownership,
                revocation: one.isRefunded
                    ? Revocation(at: from + .days(1), kind: .refund) : nil, group: one.group)
            let purchase = PurchaseID(id, in: .production)
            let isOff = Renewal(willRenew: false)
            return Timeline(
                of: purchase,
                [
                    Fact(about: purchase, attestedAt: from, .payment(payment)),
                    Fact(about: purchase, attestedAt: from, .renewal(isOff)),
                ])
        }
        let answers = Self.catalogue.eligibility(for: timelines, at: Self.now, rules: AccessRules())
        return answers.first { ($0.id ?? $0.product.rawValue) == name }?.why
    }

    private static let running = Bought()
    private static let over = Bought(daysAgo: 40)

    @Test func `an offer group with another name in the store is recognised by its products`() {
        let running = Bought(group: "20500123")
        #expect(why([running], "pro.monthly") == .isSubscribed)
        #expect(why([running], "promo") == .isOrWasSubscribed)
        #expect(why([running], "other.monthly") == .neverSubscribed)
        // A product that is no longer listed is of the group that has the same name in the store.
        let unlisted = Bought(daysAgo: 40, group: "20500123", product: "pro.ancient")
        #expect(why([running, unlisted], "pro.monthly") == .isSubscribed)
        #expect(why([Self.over, unlisted], "promo") == .isOrWasSubscribed)
        let trial = Bought(
            daysAgo: 80, terms: .trial, group: "20500123", product: "pro.ancient")
        #expect(
            why([Bought(daysAgo: 40, group: "20500123"), trial], "pro.monthly") == .hadIntroductory)
        #expect(why([trial], "pro.monthly") == .neverSubscribed)
    }

    @Test func `the introductory offer is for customers who had none and are not subscribed`() {
        let name = "pro.monthly"
        #expect(why([], name) == .neverSubscribed)
        #expect(why([Self.running], name) == .isSubscribed)
        #expect(why([Self.over], name) == .neverIntroduced)
        let offer = Offer(.introductory)
        #expect(why([Bought(daysAgo: 40, terms: .offer, offer: offer)], name) == .hadIntroductory)
        #expect(why([Bought(daysAgo: 40, terms: .trial)], name) == .hadIntroductory)
        let refunded = Bought(terms: .trial, offer: offer, isRefunded: true)
        #expect(why([refunded], name) == .hadIntroductory)
        #expect(why([Bought(daysAgo: 40, ownership: .familyShared)], name) == .neverSubscribed)
    }

    @Test func `purchases in another subscription group do not change which offers are available`()
    {
        #expect(why([Bought(terms: .trial)], "other.monthly") == .neverSubscribed)
        let elsewhere = Bought(terms: .trial, group: "H", product: "other.monthly")
        #expect(why([elsewhere], "pro.monthly") == .neverSubscribed)
        // A receipt names no group, so the product decides.
        #expect(why([Bought(group: nil)], "pro.monthly") == .isSubscribed)
    }

    @Test func `any subscriber may use promotional offers, and former subscribers win-back offers`()
    {
        #expect(why([], "promo") == .wasNeverSubscribed)
        #expect(why([Self.running], "promo") == .isOrWasSubscribed)
        #expect(why([Self.over], "promo") == .isOrWasSubscribed)
        #expect(why([], "back") == .hasNotEnded)
        #expect(why([Self.running, Self.over], "back") == .hasNotEnded)
        #expect(why([Self.over], "back") == .subscriptionEnded)
    }

    @Test func `an offer code fits only the customers it is for, and can be redeemed once`() {
        #expect(why([], "NEW") == .codeIsForThem)
        #expect(why([Self.running], "NEW") == .codeIsForOthers)
        #expect(why([Self.over], "OLD") == .codeIsForThem)
        let redeemed = Bought(daysAgo: 40, terms: .offer, offer: Offer(.code, id: "ALL"))
        #expect(why([redeemed], "ALL") == .codeIsRedeemed)
        #expect(why([Self.running], "ALL") == .codeIsForThem)
    }
}
