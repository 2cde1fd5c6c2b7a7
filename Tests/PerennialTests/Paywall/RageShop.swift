import Foundation

@testable import Perennial

/// An app for comics with every kind of product: faces to use up, comics to keep, terms, and plans.
/// Terms and plans give access to everything.
enum RageShop {
    static let faces = product("faces", .consumable, "Random faces", price: "0.99")
    static let drummer = product("drummer", .nonConsumable, "Drummer", gives: ["drummer"])
    static let nightly = product("nightly", .nonConsumable, "Nightly", gives: ["nightly"])
    static let threeMonths = product(
        "3months", .term, "3 months", price: "5.99", period: .init(3, .month, bonusDays: 1),
        gives: ["everything"])
    static let sixMonths = product(
        "6months", .term, "6 months", price: "9.99", period: .init(6, .month, bonusDays: 1),
        gives: ["everything"])
    static let monthly = product(
        "monthly", .renewing, "Monthly", price: "9.99", period: .init(1, .month), group: "plans",
        gives: ["everything"], offers: [week])
    static let yearly = product(
        "yearly", .renewing, "Yearly", price: "19.99", period: .init(1, .year), group: "plans",
        gives: ["everything"])

    static let week = Perennial.Offer(
        id: nil, kind: .introductory, isEligible: true, paymentMode: .freeTrial, price: 0,
        displayPrice: "0,00 €", period: .init(1, .week))

    static let offering = Perennial.Offering(
        id: "shop", products: [faces, drummer, nightly, threeMonths, sixMonths, monthly, yearly],
        metadata: ["everything": .init(text: "everything")])

    /// Noon on 12 May 2027, by the calendar below.
    static let now = date("2027-05-12T12:00:00Z")
    static let calendar: Calendar = {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = TimeZone(identifier: "UTC") ?? .current
        return calendar
    }()

    static func date(_ text: String) -> Date {
        (try? Date(text, strategy: .iso8601)) ?? .distantPast
    }

    static func paywallContent(
        _ snapshot: Perennial.Snapshot, at date: Date = now, in locale: String = "en_GB",
        of offering: Perennial.Offering = offering
    ) -> Perennial.PaywallContent {
        Perennial.PaywallContent(
            offering, snapshot, at: date, locale: Locale(identifier: locale), calendar: calendar)
    }

    /// The snapshot of anna's purchases.
    static func snapshot(
        _ access: [Perennial.Access] = [], plans: [Perennial.Subscription] = [],
        terms: [Perennial.Term] = [], owned: [Perennial.OwnedProduct] = [],
        waiting: [Perennial.WaitingPurchase] = [], isKnown: Bool = true
    ) -> Perennial.Snapshot {
        Perennial.Snapshot(
            customer: .init(id: "anna"),
            access: Dictionary(uniqueKeysWithValues: access.map { ($0.entitlement, $0) }),
            subscriptions: plans, terms: terms, owned: owned, waiting: waiting, isKnown: isKnown)
    }

    static func everything(
        _ state: Perennial.AccessState = .paid, until: Date?, willRenew: Bool? = nil,
        by product: Perennial.ProductID? = nil
    ) -> Perennial.Access {
        Perennial.Access(
            entitlement: "everything", isActive: ![.retry, .expired].contains(state), state: state,
            until: until, willRenew: willRenew, product: product)
    }

    /// A customer with a term of three months that ends at a date.
    static func term(until end: Date) -> Perennial.Snapshot {
        snapshot(
            [everything(until: end, by: "3months")],
            terms: [.init(product: "3months", from: now.addingTimeInterval(-86_400), until: end)])
    }

    /// A customer with the monthly plan, which gives access to everything.
    static func plan(
        _ change: (inout Perennial.Subscription) -> Void = { _ in }
    ) -> Perennial.Snapshot {
        var plan = Perennial.Subscription(
            id: "1", product: "monthly", state: .paid, until: date("2027-05-24T12:00:00Z"),
            willRenew: true, renewsTo: "monthly")
        change(&plan)
        let access = everything(
            plan.state, until: plan.until, willRenew: plan.willRenew, by: plan.product)
        return snapshot([access], plans: [plan])
    }

    private static func product(
        _ id: Perennial.ProductID, _ kind: Perennial.Product.Kind, _ name: String,
        price: String = "1.99", period: Perennial.Period? = nil, group: String? = nil,
        gives entitlements: Set<Perennial.EntitlementID> = [], offers: [Perennial.Offer] = []
    ) -> Perennial.Product {
        let text = price.replacing(".", with: ",")
        return Perennial.Product(
            id: id, kind: kind, name: name, price: Decimal(string: price) ?? 0,
            displayPrice: "\(text) €",
            currencyCode: "EUR", period: period, group: group, offers: offers,
            entitlements: entitlements)
    }
}
