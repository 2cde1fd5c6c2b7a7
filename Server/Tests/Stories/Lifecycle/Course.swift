import AppStoreFormats
import Convergence
import Engine
import Ledger
import Testing

@testable import Simulator

/// The steps that play one row of the table in docs/lifecycle.md.
struct Course: Sendable, CustomTestStringConvertible {
    /// An act on anna's latest purchase, or an amount of time that passes.
    enum Step: Sendable {
        /// Buys without an introductory offer.
        case buys(String)
        case orders(PurchaseOrder)
        /// Orders a purchase that needs approval, and then decides it.
        case ordersPending(PurchaseOrder, PendingVerb)
        case does(SubscriptionAct)
        /// Acts on the latest transaction, which may also be one of a one-time purchase.
        case transaction(TransactionAct)
        case waits(String)
        case massExtension(MassExtension)
        case restores
        /// Anna and ben become a family.
        case household
        case announces(
            @Sendable (inout World, AppStoreDate) throws(SimulatorProblem) -> NotificationDraft)
    }

    let name: String
    /// The rows that the simulator marks as played.
    var rows: [LifecycleRow] = []
    var environment = SimulatedEnvironment.production
    var set: @Sendable (inout SimulatorSettings) -> Void = { _ in }
    let steps: [Step]

    var testDescription: String { name }
}

/// Plays a course. Does its steps, lets the app post new purchases on a device, and compares the
/// server's answers with the books just before and just after every end.
struct CourseRun {
    let shop: DirectShop
    /// The customer id of an account at the server.
    let customer: @Sendable (String) -> CustomerID
    /// Whether the app posts its purchases. If false, the server learns of purchases from
    /// notifications only.
    let posts: Bool
    /// Whether an answer may hold access open if the App Store does not report the end. If true, an
    /// answer that holds access open counts as correct.
    var allowsHold = false
    var accounts = ["anna"]
    private var posted: Set<String> = []
    private var introduced: Set<String> = []
    private var bought: PurchasedTransaction?

    /// Makes a run in which the app posts. Each account is the customer of the same name.
    init(_ shop: DirectShop, allowsHold: Bool = false) {
        self.shop = shop
        self.allowsHold = allowsHold
        posts = true
        customer = { CustomerID(rawValue: $0) }
    }

    /// Makes a run in which the app does not post. The customer is found by the token of anna's
    /// device.
    init(_ shop: DirectShop, token: String) {
        self.shop = shop
        posts = false
        customer = { _ in CustomerID(rawValue: token) }
    }

    static let token = "0a0a0a0a-1111-4222-8333-444444444444"
    /// How long answers are compared after the last step.
    static let aftermath = "P70D"

    /// - Parameter aftermath: how long to compare after the last step; nil to compare no longer.
    mutating func play(_ course: Course, aftermath: String? = Self.aftermath) async throws {
        let family = course.steps.contains { if case .household = $0 { true } else { false } }
        try await shop.store.addDevice(
            account: "anna", environment: course.environment, appAccountToken: Self.token,
            family: family ? "f" : nil)
        for (number, step) in course.steps.enumerated() {
            try await take(step, "step \(number)")
            try await check("after step \(number)")
        }
        if let aftermath { try await pass(aftermath, "aftermath") }
        let sent = await shop.store.notifications
        #expect(sent.allSatisfy { $0.attempts.last?.result.isSuccess == true })
        for row in course.rows {
            #expect(sent.contains { $0.draft.row == row }, "the course did not play \(row)")
        }
    }

    private mutating func take(_ step: Course.Step, _ place: String) async throws {
        let store = shop.store
        switch step {
        case .buys(let product):
            bought = try await store.purchase(
                PurchaseOrder(product, offerID: PurchaseOrder.noOffer), on: "anna-1")
        case .orders(let order): bought = try await store.purchase(order, on: "anna-1")
        case .ordersPending(let order, let verb):
            try await store.order(order, on: "anna-1")
            try await check(place)
            let pending = try #require(try await store.groundTruth(of: "anna").pending.first)
            bought = try await store.resolve(pending: pending.id, verb)
        case .does(let act):
            try await store.change(try #require(bought).originalTransactionID, act)
        case .transaction(let act):
            try await store.change(transaction: try #require(bought).transactionID, act)
        case .waits(let duration): try await pass(duration, place)
        case .massExtension(let wish): try await store.massExtend(wish)
        case .restores: _ = try await store.restore(on: "anna-1")
        case .household:
            try await store.addDevice(account: "ben", family: "f")
            if posts { accounts.append("ben") }
        case .announces(let notice): _ = try await store.emit(notice)
        }
    }

    // MARK: Time

    private static let stopsMax = 200

    /// Lets time pass, with a stop just before and just after every end in the books.
    private mutating func pass(_ duration: String, _ place: String) async throws {
        let length = try #require(ISODuration(duration))
        let clock = shop.store.clock
        let target = await shop.store.world.calendar.moment(clock.now, plus: length)
        for _ in 0..<Self.stopsMax {
            let here = clock.now
            guard let end = try await nextEnd(after: here, until: target) else { break }
            let before = AppStoreDate(milliseconds: end.milliseconds - 1)
            for stop in [before, end] where stop > here {
                try await shop.store.advance(to: stop)
                try await check(place)
            }
        }
        try await shop.store.advance(to: target)
        try await check(place)
    }

    private func nextEnd(
        after here: AppStoreDate, until target: AppStoreDate
    ) async throws -> AppStoreDate? {
        var ends: [AppStoreDate] = []
        for account in accounts {
            for purchase in try await shop.store.groundTruth(of: account).purchases {
                ends += [purchase.until, purchase.graceUntil, purchase.period?.upperBound]
                    .compactMap(\.self)
            }
        }
        return ends.filter { $0 > here && $0 <= target }.min()
    }

    // MARK: Verdicts

    mutating func check(_ place: String) async throws {
        for account in accounts {
            if posts { try await post(account) }
            try await compare(account, place)
        }
        try await checkLog(place)
    }

    /// Checks the whole log of the customers. If the app does not post, checks the events that name
    /// the token.
    private func checkLog(_ place: String) async throws {
        let now = Instant(milliseconds: shop.store.clock.milliseconds)
        var purchases: Set<Timeline> = []
        for account in accounts {
            for environment in Ledger.Environment.allCases {
                let state = try await shop.engine.customers.find(
                    customer(account), app: DirectShop.app, environment: environment)
                purchases.formUnion(state.purchases.map(\.timeline))
            }
        }
        try await LogCheck(engine: shop.engine, app: DirectShop.app).check(
            Array(purchases), isAll: posts, at: now, "\(place), at \(now)")
    }

    /// The app links the account's token, if it has one, to the customer.
    private mutating func introduce(_ account: String, _ device: String) async throws {
        guard !introduced.contains(account),
            let token = await shop.store.accountToken(on: device)
        else { return }
        _ = try await shop.engine.customers.alias(
            CustomerID(rawValue: token), to: customer(account), app: DirectShop.app,
            environment: .production)
        introduced.insert(account)
    }

    /// Posts one document of each purchase that is new on the account's device.
    private mutating func post(_ account: String) async throws {
        let device = account + "-1"
        try await introduce(account, device)
        for booked in try await shop.store.groundTruth(of: account).purchases
        where !posted.contains(booked.originalTransactionID) {
            let signed = try await shop.store.transactions(on: device).first {
                try TransactionPayload(parsing: CompactJWS($0)?.payload ?? [])
                    .originalTransactionId == booked.originalTransactionID
            }
            _ = try await shop.engine.recording.record(
                PurchaseEvidence(signedTransactions: [try #require(signed)]),
                of: customer(account), app: DirectShop.app)
            posted.insert(booked.originalTransactionID)
        }
    }

    private func compare(_ account: String, _ place: String) async throws {
        let now = Instant(milliseconds: shop.store.clock.milliseconds)
        let books = try await shop.store.groundTruth(of: account).purchases
        let truth = Set(books.map { PurchaseView($0) })
        var answer: Set<PurchaseView> = []
        var open: Set<String> = []
        for environment in Ledger.Environment.allCases {
            let state = try await shop.engine.customers.find(
                customer(account), app: DirectShop.app, environment: environment)
            answer.formUnion(state.purchases.compactMap { PurchaseView($0, at: now) })
            open.formUnion(
                state.entitlements.filter { $0.value.isOpen }.map { $0.key.rawValue })
        }
        let (settled, isHeld) = settled(answer, truth)
        #expect(settled == truth, "\(account), \(place), at \(now)")
        if !isHeld { #expect(open == Self.open(books), "\(account), \(place), at \(now)") }
    }

    /// The server's answer. If held access is allowed, the books replace an entitlement that is
    /// held open.
    private func settled(
        _ answer: Set<PurchaseView>, _ truth: Set<PurchaseView>
    ) -> (Set<PurchaseView>, isHeld: Bool) {
        guard allowsHold else { return (answer, false) }
        var isHeld = false
        let settled = answer.map { ours in
            let theirs = truth.first { $0.original == ours.original && !$0.isOpen }
            guard ours.state == "unconfirmed", let theirs else { return ours }
            isHeld = true
            return theirs
        }
        return (Set(settled), isHeld)
    }

    /// The products that are open by the books and give an entitlement.
    private static func open(_ books: [TruePurchase]) -> Set<String> {
        let open = books.filter { $0.isOpen && ($0.period != nil || $0.productID == "atlas") }
        return Set(open.map(\.productID))
    }
}
