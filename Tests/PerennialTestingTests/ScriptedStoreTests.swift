import Foundation
import Perennial
import PerennialTesting
import Testing

/// A scripted store, as an app's own unit tests use it.
@Suite(.timeLimit(.minutes(1)))
struct ScriptedStoreTests {
    private static let monthly = Perennial.Product(
        id: "pro.monthly", kind: .renewing, name: "Pro", price: 9.99, displayPrice: "$9.99",
        period: .init(1, .month), group: "pro",
        offers: [
            Perennial.Offer(
                id: nil, kind: .introductory, isEligible: true, paymentMode: .freeTrial, price: 0,
                displayPrice: "$0.00", period: .init(1, .week))
        ], entitlements: ["pro"])
    private static let yearly = Perennial.Product(
        id: "pro.yearly", kind: .renewing, name: "Pro for a year", price: 99.99,
        displayPrice: "$99.99", period: .init(1, .year), group: "pro", entitlements: ["pro"])
    private static let guide = Perennial.Product(
        id: "guide", kind: .nonConsumable, name: "Guide", price: 4.99, displayPrice: "$4.99",
        entitlements: ["guide"])
    private static let season = Perennial.Product(
        id: "season", kind: .term, name: "Season", price: 2.99, displayPrice: "$2.99",
        period: .init(3, .month, bonusDays: 1), entitlements: ["season"])
    private static let seeds = Perennial.Product(
        id: "seeds.100", kind: .consumable, name: "Seeds", price: 0.99, displayPrice: "$0.99",
        credits: ["seeds": 100])
    private static let all = [monthly, yearly, guide, season, seeds]

    private let store = ScriptedStore(products: Self.all)

    @Test func `a purchase opens the product's entitlement, and is finished`() async throws {
        let perennial = store.perennial()
        #expect(perennial["guide"].isKnown && !perennial["guide"].isActive)
        let purchase = try await perennial.purchase("guide")
        #expect(purchase.outcome == .bought && purchase.isKeptByServer)
        #expect(purchase.snapshot["guide"].isActive)
        #expect(perennial["guide"].state == .owned && perennial["guide"].until == nil)
        #expect(perennial.snapshot.owned.map(\.product) == ["guide"])
        #expect(store.sheets == ["guide"])
    }

    @Test func `a trial renews, and ends after its renewal was switched off`() async throws {
        let perennial = store.perennial()
        try await perennial.purchase("pro.monthly")
        #expect(perennial["pro"].state == .trial)
        #expect(perennial["pro"].daysRemaining(at: perennial.now) == 7)
        #expect(
            perennial.snapshot.subscriptions.map(\.offer) == [
                .init(kind: .introductory, paymentMode: .freeTrial, period: .init(1, .week))
            ])
        store.advance(days: 8)
        #expect(perennial["pro"].state == .paid && perennial["pro"].willRenew == true)
        #expect(perennial.snapshot.subscriptions.map(\.offer) == [nil])
        store.cancels("pro.monthly")
        #expect(perennial["pro"].isActive && perennial["pro"].willRenew == false)
        store.advance(days: 40)
        #expect(perennial["pro"].isKnown && perennial["pro"].state == .expired)
        #expect(try await perennial.offers(for: "pro.monthly").map(\.isEligible) == [false])
        #expect(try await perennial.paywallContent().rows.first?.trial == nil)
        #expect(perennial.now == ScriptedStore.firstNoon.addingTimeInterval(48 * 86_400))
        // A customer who had a trial gets no second trial.
        try await perennial.purchase("pro.monthly")
        #expect(perennial["pro"].state == .paid)
    }

    @Test(arguments: [
        Perennial.Purchase.Outcome.cancelled, .alreadyHad, .belongsToAnother, .pending,
    ])
    func `a purchase with an outcome other than bought gives no access`(
        outcome: Perennial.Purchase.Outcome
    ) async throws {
        let perennial = store.perennial()
        store.answersNext(outcome)
        #expect(try await perennial.purchase("guide").outcome == outcome)
        #expect(!perennial["guide"].isActive)
        #expect(try await perennial.purchase("guide").outcome == .bought)
        #expect(perennial["guide"].isActive)
    }

    @Test func `a purchase that waits for a parent is completed or declined`() async throws {
        let perennial = store.perennial()
        store.answersNext(.pending)
        store.answersNext(.pending)
        try await perennial.purchase("guide")
        try await perennial.purchase("season")
        #expect(perennial.snapshot.waiting.map(\.product) == ["guide", "season"])
        store.delivers("guide")
        store.declines("season")
        #expect(perennial.snapshot.waiting.isEmpty)
        #expect(perennial["guide"].isActive && !perennial["season"].isActive)
    }

    @Test func `a failure that the test sets is thrown once`() async throws {
        let perennial = store.perennial()
        let failure = Perennial.Failure(.storeFailed, remedy: "Try again.", charged: .unclear)
        store.fails(failure)
        await #expect(throws: failure) { try await perennial.purchase("guide") }
        #expect(store.sheets.isEmpty)
        try await perennial.purchase("guide")
        await #expect(throws: Perennial.Failure.self) { try await perennial.purchase("nothing") }
    }

    @Test func `offline, known access stays, and calls fail with a temporary error`() async throws {
        let perennial = store.perennial()
        try await perennial.purchase("guide")
        store.isOffline(true)
        store.refunds("guide")
        #expect(perennial["guide"].isActive)
        let failure = await #expect(throws: Perennial.Failure.self) {
            try await perennial.purchase("season")
        }
        #expect(failure?.code == .storeUnreachable && failure?.isTemporary == true)
        store.isOffline(false)
        #expect(perennial["guide"].state == .refunded)
    }

    @Test func `while the store is silent, access stays unknown, and calls wait`() async throws {
        store.isSilent(true)
        let perennial = store.perennial()
        #expect(!perennial["guide"].isKnown)
        let (one, other) = (
            Task { try await perennial.purchase("guide") },
            Task { try await perennial.purchase("guide") }
        )
        let known = Task { await perennial.known(withinSeconds: 30) }
        store.isSilent(false)
        #expect(try await one.value.outcome == .bought)
        _ = try await other.value
        #expect(await known.value.isKnown)
        #expect(store.sheets == ["guide"])
    }

    @Test func `a changed snapshot is published, but an unchanged one is not`() async throws {
        let perennial = store.perennial()
        var changes = perennial.changes(of: "guide").makeAsyncIterator()
        #expect(await changes.next()?.isActive == false)
        try await perennial.refresh()
        try await perennial.purchase("guide")
        #expect(await changes.next()?.isActive == true)
        store.refunds("guide")
        #expect(await changes.next()?.state == .refunded)
    }

    @Test func `terms follow each other, with their bonus days`() async throws {
        let perennial = store.perennial()
        try await perennial.purchase("season")
        try await perennial.purchase("season")
        // The term runs from June 2 to December 2, and for two bonus days.
        #expect(perennial["season"].daysRemaining(at: perennial.now, calendar: .utc) == 185)
        store.advance(days: 185)
        #expect(perennial["season"].state == .expired)
    }

    @Test func `an upgrade ends the old subscription; a downgrade waits for the period's end`()
        async throws
    {
        let perennial = store.perennial()
        try await perennial.purchase("pro.monthly")
        try await perennial.purchase("pro.yearly")
        #expect(perennial.snapshot.subscriptions.map(\.product) == ["pro.yearly"])
        store.answersNext(.planChangeScheduled)
        try await perennial.purchase("pro.monthly")
        #expect(perennial["pro"].product == "pro.yearly")
        #expect(perennial.snapshot.subscriptions.first?.renewsTo == "pro.monthly")
        store.advance(days: 366)
        #expect(perennial["pro"].isActive && perennial["pro"].product == "pro.monthly")
    }

    /// A subscription for a year that can be paid at once or by the month, with a free week.
    private static let promise: Perennial.Product = {
        let week = Perennial.Offer(
            id: nil, kind: .introductory, isEligible: true, paymentMode: .freeTrial, price: 0,
            displayPrice: "$0.00", period: .init(1, .week))
        func plan(
            _ kind: Perennial.Plan.Kind, _ period: Perennial.Period, _ offers: [Perennial.Offer]
        ) -> Perennial.Plan {
            Perennial.Plan(
                kind: kind, billingPrice: 9.99, displayPrice: "$9.99", billingPeriod: period,
                totalDisplayPrice: "$119.88", totalPeriod: .init(1, .year), offers: offers)
        }
        return Perennial.Product(
            id: "promise", kind: .renewing, name: "Promise", price: 99.99, displayPrice: "$99.99",
            period: .init(1, .year),
            plans: [plan(.upFront, .init(1, .year), []), plan(.monthly, .init(1, .month), [week])],
            group: "promise", entitlements: ["promise"])
    }()

    @Test
    func `a monthly plan is charged each month, and a cancelled one ends after its last month`()
        async throws
    {
        let store = ScriptedStore(products: [Self.promise])
        let perennial = store.perennial()
        func commitment() -> Perennial.Subscription.Commitment? {
            perennial.snapshot.subscriptions.first?.commitment
        }
        let monthly = try #require(Self.promise.plans.last)
        try await perennial.purchase("promise", .init(plan: monthly))
        // The offer of the plan itself is used first.
        #expect(perennial["promise"].state == .trial && commitment() == nil)
        store.advance(days: 8)
        #expect(commitment()?.month == 1 && commitment()?.months == 12)
        #expect(perennial["promise"].daysRemaining(at: perennial.now, calendar: .utc) == 29)
        store.cancels("promise")
        #expect(perennial["promise"].willRenew == true && commitment()?.renews == false)
        store.advance(days: 180)
        #expect(perennial["promise"].isActive && commitment()?.month == 6)
        #expect(commitment()?.renews == false)
        store.advance(days: 175)
        let year = ScriptedStore.firstNoon.addingTimeInterval(7 * 86_400)
        #expect(commitment()?.month == 12)
        #expect(commitment()?.until == Calendar.utc.date(byAdding: .year, value: 1, to: year))
        #expect(perennial["promise"].until == commitment()?.until)
        #expect(perennial["promise"].willRenew == false)
        store.advance(days: 10)
        #expect(perennial["promise"].state == .expired)
    }

    @Test func `a commitment that began with a waiting purchase starts again after a year`()
        async throws
    {
        let store = ScriptedStore(products: [Self.promise])
        let perennial = store.perennial()
        let monthly = try #require(Self.promise.plans.last)
        store.answersNext(.pending)
        try await perennial.purchase("promise", .init(plan: monthly))
        store.delivers("promise")
        store.advance(days: 8)
        let first = try #require(perennial.snapshot.subscriptions.first?.commitment)
        #expect(first.month == 1 && first.renews == true)
        #expect(perennial.snapshot.subscriptions.first?.renewsTo == "promise")
        store.advance(days: 366)
        let second = try #require(perennial.snapshot.subscriptions.first?.commitment)
        #expect(second.month == 1 && second.until ?? .distantPast > first.until ?? .distantFuture)
    }

    @Test func `a year that is paid at once is not a commitment`() async throws {
        let store = ScriptedStore(products: [Self.promise])
        let perennial = store.perennial()
        let upFront = try #require(Self.promise.plans.first)
        try await perennial.purchase("promise", .init(plan: upFront))
        #expect(perennial["promise"].state == .paid)
        #expect(perennial.snapshot.subscriptions.first?.commitment == nil)
        #expect(perennial["promise"].daysRemaining(at: perennial.now, calendar: .utc) == 365)
    }

    @Test func `buying with a plan that the product lacks is refused before a sheet is shown`()
        async throws
    {
        let perennial = store.perennial()
        let monthly = try #require(Self.promise.plans.last)
        let failure = await #expect(throws: Perennial.Failure.self) {
            try await perennial.purchase("pro.yearly", .init(plan: monthly))
        }
        #expect(failure?.code == .offerNotAccepted && failure?.charged == .no)
        #expect(store.sheets.isEmpty && !perennial["pro"].isActive)
    }

    @Test func `a failed payment ends access with the state retry`() async throws {
        let perennial = store.perennial()
        try await perennial.purchase("pro.yearly")
        store.failsToRenew("pro.yearly")
        store.advance(days: 366)
        #expect(perennial["pro"].state == .retry && !perennial["pro"].isActive)
    }

    @Test func `a wallet is credited, debited once for each key, and never below zero`()
        async throws
    {
        let perennial = store.perennial()
        try await perennial.purchase("seeds.100", .init(quantity: 2))
        #expect(perennial.wallet("seeds").balance == 200)
        let key = UUID()
        for _ in 1...2 { try await perennial.spend(150, from: "seeds", for: "a tree", key: key) }
        #expect(perennial.wallet("seeds").balance == 50)
        let failure = await #expect(throws: Perennial.Failure.self) {
            try await perennial.spend(51, from: "seeds", for: "another tree")
        }
        #expect(failure?.code == .walletBalanceTooLow)
        store.credits(1, to: "seeds")
        #expect(try await perennial.spend(51, from: "seeds", for: "another tree").balance == 0)
    }

    @Test func `after a log-in, no purchase of the previous customer is shown`() async throws {
        let perennial = store.perennial()
        try await perennial.purchase("guide")
        try await perennial.purchase("seeds.100")
        try await perennial.identify("anna")
        #expect(perennial["guide"].isActive && perennial.wallet("seeds").balance == 100)
        await perennial.signOut()
        #expect(!perennial["guide"].isActive && perennial.snapshot.customer.isAnonymous)
        try await perennial.identify("ben")
        #expect(!perennial["guide"].isActive && perennial.wallet("seeds").balance == 0)
        #expect(try await perennial.restore().outcome == .refused)
        try await perennial.identify("anna")
        #expect(perennial["guide"].isActive)
        #expect(try await perennial.restore().outcome == .nothingNew)
    }

    @Test func `a restore asks the customer for consent, and then makes the previewed changes`()
        async throws
    {
        let perennial = store.perennial()
        #expect(try await perennial.restore().outcome == .nothingFound)
        store.restoresNext(.needsConsent, ["guide"], from: "a…@e…")
        let restoration = try await perennial.restore()
        #expect(restoration.outcome == .needsConsent)
        #expect(restoration.preview.items.map(\.ownerHint) == ["a…@e…"])
        #expect(!perennial["guide"].isActive)
        #expect(try await perennial.restore(restoration.preview).outcome == .restored)
        #expect(perennial["guide"].isActive)
    }

    @Test func `offline, a customer who signs in gets no grant of the previous customer`()
        async throws
    {
        let perennial = store.perennial()
        try await perennial.identify("anna")
        store.grants("pro")
        #expect(perennial["pro"].isActive)
        store.isOffline(true)
        let ben = try await perennial.identify("ben")
        #expect(ben.customer.id == "ben" && !perennial["pro"].isKnown)
        store.isOffline(false)
        #expect(perennial["pro"].isKnown && !perennial["pro"].isActive)
        try await perennial.identify("anna")
        #expect(perennial["pro"].isActive)
    }

    @Test func `a grant of the developer opens access, and ends`() async throws {
        let perennial = store.perennial()
        store.grants("pro", until: store.now.addingTimeInterval(86_400))
        #expect(perennial["pro"].state == .granted && perennial["pro"].isActive)
        store.advance(days: 2)
        #expect(!perennial["pro"].isActive)
        store.grants("pro")
        store.revokes("pro")
        #expect(perennial["pro"].state == .revoked)
    }

    @Test func `a purchase chosen in the App Store waits until the app reads it`() async throws {
        let perennial = store.perennial()
        store.requests("guide")
        var requests = perennial.requests.makeAsyncIterator()
        #expect(await requests.next()?.product == "guide")
        store.requests("pro.monthly", offer: "comeback")
        #expect(await requests.next()?.offerID == "comeback")
    }

    @Test func `a product that the customer already owns is open at once and is not sold again`()
        async throws
    {
        let store = ScriptedStore(products: Self.all, owns: ["guide"])
        let perennial = store.perennial()
        #expect(perennial["guide"].isActive)
        #expect(await perennial.advice(on: "guide").reason == .alreadyHad)
        #expect(try await perennial.purchase("guide").outcome == .alreadyHad)
        #expect(store.sheets.isEmpty)
        let paywall = try await perennial.paywallContent()
        #expect(paywall.rows.map(\.id.rawValue) == Self.all.map(\.id.rawValue))
        #expect(paywall.rows.first { $0.id == "guide" }?.action == .owned)
    }

    @Test
    func `a scripted store always returns the same Perennial, and explains access in steps`()
        async throws
    {
        let perennial = store.perennial()
        #expect(store.perennial() === perennial)
        try await perennial.purchase("guide")
        #expect(perennial.explain("guide").steps.isEmpty == false)
    }

    @Test func `a preview of a view shows the values that the test gives`() async throws {
        let open = Perennial.Access(entitlement: "pro", isActive: true, state: .paid)
        let offering = Perennial.Offering(id: "paywall", products: [Self.monthly])
        let perennial = Perennial.preview(
            ["pro": open], offerings: [offering], wallets: ["seeds": .init(balance: 3)])
        #expect(perennial["pro"].isActive && !perennial["guide"].isActive)
        #expect(perennial.wallet("seeds").balance == 3)
        #expect(perennial.explain("pro").access.isActive)
        #expect(try await perennial.paywallContent("paywall").rows.map(\.id) == ["pro.monthly"])
        #expect(try await perennial.purchase("pro.monthly").outcome == .bought)
        #expect(try await perennial.restore().outcome == .nothingFound)
    }
}

extension Calendar {
    fileprivate static var utc: Calendar {
        var calendar = Calendar(identifier: .gregorian)
        // The property `gmt` does not exist on the oldest systems that the package supports.
        calendar.timeZone = TimeZone(secondsFromGMT: 0) ?? calendar.timeZone
        return calendar
    }
}
