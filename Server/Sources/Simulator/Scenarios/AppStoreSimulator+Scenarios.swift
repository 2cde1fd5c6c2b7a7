import AppStoreFormats

/// A scenario that was played, and what came of it.
package struct ScenarioRun: Sendable {
    package let scenario: Scenario
    package let account: String
    package let deviceID: String
    package let steps: [Step]
    /// Everything the customer's notifications said, in order.
    package let notices: [Notice]
    package let books: Books

    /// What was done, and when.
    package struct Step: Hashable, Sendable {
        package let at: AppStoreDate
        package let what: String
    }
}

extension AppStoreSimulator {
    /// Plays a story from the present on; the clock moves as the story needs. Each run has an
    /// account of its own.
    package func play(_ scenario: Scenario) async throws -> ScenarioRun {
        let account = nextAccount(of: scenario)
        let device = "\(account)-1"
        try await arrival(of: account)(self)
        var told: [ScenarioRun.Step] = []
        for step in scenario.steps {
            switch deed(for: step, account, device) {
            case .failure(let problem): throw problem
            case .success(let (deed, what)):
                try await deed(self)
                told.append(ScenarioRun.Step(at: clock.now, what: what))
                note("scenario", [("account", .string(account)), ("step", .string(what))])
            }
        }
        return run(of: scenario, account, device, told)
    }

    @inline(never)
    private func arrival(of account: String) -> Deed {
        { simulator in try await simulator.addDevice(account: account) }
    }

    private func nextAccount(of scenario: Scenario) -> String {
        var number = 1
        while world.accounts[
            Account.Key(name: "\(scenario.name)-\(number)", environment: .production)] != nil
        {
            number += 1
        }
        return "\(scenario.name)-\(number)"
    }

    @inline(never)
    private func run(
        of scenario: Scenario, _ account: String, _ device: String, _ steps: [ScenarioRun.Step]
    ) -> ScenarioRun {
        let books: Books
        do { books = try truth(of: account) } catch {
            preconditionFailure("The account of a scenario that was played is known: \(error)")
        }
        return ScenarioRun(
            scenario: scenario, account: account, deviceID: device, steps: steps,
            notices: notifications.map(\.notice).filter { $0.account == account }, books: books)
    }

    /// A step as the world stands, ready to be done. A closure, as the routes are: on one function
    /// with all of these calls the optimizer of Swift 6.3 crashes.
    private typealias Deed = @Sendable (AppStoreSimulator) async throws -> Void

    /// What a step comes to, and how it is told. Faults are armed at once.
    @inline(never)
    private func deed(
        for step: Scenario.Step, _ account: String, _ device: String
    ) -> Result<(Deed, String), any Error> {
        Result { try plan(step, account, device) }
    }

    private func plan(
        _ step: Scenario.Step, _ account: String, _ device: String
    ) throws -> (Deed, String) {
        switch step {
        case .buy(let wish):
            let product = try product(wish, account)
            // A trial is taken where the story is about one.
            let offer = wish == .withTrial ? nil : PurchaseOrder.noOffer
            let order = PurchaseOrder(product.id, offerID: offer)
            return ({ try await $0.purchase(order, on: device) }, "buys \(product.id)")
        case .act(let act): return (try deed(act, account), act.name)
        case .change(let wish):
            let product = try product(wish, account)
            return (
                try deed(.changeProduct(product.id), account), "changes to \(product.id)"
            )
        case .raisePrice(let needsConsent):
            let price = try world.subscription(chain(of: account)).nextProduct.price * 2
            let order = PriceRise.Order(price: price, needsConsent: needsConsent)
            return (
                try deed(.raisePrice(order), account), "the price rises to \(price) thousandths"
            )
        case .wait(let text):
            guard let duration = ISODuration(text) else {
                preconditionFailure("The duration \(text) of a scenario of ours is none.")
            }
            return ({ try await $0.advance(by: duration) }, "\(text) pass")
        case .outage(let days): return ({ _ in }, beginOutage(days: days))
        case .strike(let fault): return ({ _ in }, try order(fault))
        }
    }

    private func deed(_ act: SubscriptionAct, _ account: String) throws -> Deed {
        let chain = try chain(of: account)
        return { simulator in try await simulator.change(chain, act) }
    }

    private func beginOutage(days: Int64) -> String {
        let until = world.calendar.moment(clock.now, plus: .days(Int(days)))
        let outage = Outage(from: clock.now, until: until)
        setFaults { $0.notificationOutage = outage }
        return "no notifications for \(days) days"
    }

    private func order(_ fault: NotificationFault) throws -> String {
        try setFaults { try $0.notifications.order([fault]) }
        return "the next notification meets \(fault.rawValue)"
    }

    private func chain(of account: String) throws(StoreProblem) -> String {
        let key = Account.Key(name: account, environment: .production)
        guard let chain = world.accounts[key]?.chains.values.max() else {
            throw .unknownSubscription(account)
        }
        return chain
    }

    /// The first product of the shop that a story wants.
    private func product(
        _ wish: Scenario.Wish, _ account: String
    ) throws(StoreProblem) -> StoreKitProduct {
        let products = settings.shop.groups.flatMap(\.subscriptions)
        let found: StoreKitProduct?
        switch wish {
        case .monthly: found = products.first { $0.isMonthly && products.hasNeighbours(of: $0) }
        case .withTrial:
            found = products.first { $0.subscription?.introductoryOffer?.discount == .freeTrial }
        case .higher, .lower:
            let present = try world.subscription(chain(of: account)).latest.product
            found = products.first { wish == .higher ? $0.isAbove(present) : present.isAbove($0) }
        }
        guard let found else {
            throw StoreProblem(
                "scenario_needs_product", "The shop does not sell \(wish.rawValue).",
                remedy: "POST /_sim/reset {\"shop\": \"full\"} sells everything.")
        }
        return found
    }
}

extension StoreKitProduct {
    fileprivate var isMonthly: Bool { subscription?.period == BillingPeriod(1, .month) }

    fileprivate func isAbove(_ other: Self) -> Bool {
        guard
            let (own, its) = subscription.flatMap({ own in
                other.subscription.map { (own, $0) }
            })
        else { return false }
        return own.groupID == its.groupID && own.level < its.level
    }
}

extension [StoreKitProduct] {
    /// Whether one can go up and down from a product: where the shop has such a one, stories about
    /// changes need it.
    fileprivate func hasNeighbours(of product: StoreKitProduct) -> Bool {
        let isBetween = { (one: StoreKitProduct) in
            contains { $0.isAbove(one) } && contains { one.isAbove($0) }
        }
        return isBetween(product) || !contains(where: isBetween)
    }
}

extension SubscriptionAct {
    /// As the routes call it.
    fileprivate var name: String {
        switch self {
        case .cancel: "cancel"
        case .resume: "resume"
        case .changeProduct(let product): "change-product \(product)"
        case .failBilling: "fail-billing"
        case .recoverBilling: "recover-billing"
        case .refund: "refund"
        case .reverseRefund: "reverse-refund"
        case .requestRefund(_, let decision, _):
            decision.map { "request-refund, \($0.rawValue)" } ?? "request-refund"
        case .raisePrice: "raise-price"
        case .consent: "consent"
        case .decline: "decline"
        case .extend: "extend"
        case .removeFromSale: "remove-from-sale"
        case .expire: "expire"
        case .renewNow: "renew-now"
        case .advancedCommerce: "advanced-commerce"
        }
    }
}
