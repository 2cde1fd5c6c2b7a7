import AppStoreFormats

/// A scenario that was run, and its results.
package struct ScenarioRun: Sendable {
    package let scenario: Scenario
    package let account: String
    package let deviceID: String
    /// What was done, and when.
    package internal(set) var steps: [(at: AppStoreDate, what: String)] = []
    /// All of the customer's notifications, in order.
    package internal(set) var notifications: [NotificationDraft] = []
    package internal(set) var groundTruth: GroundTruth
}

extension AppStoreSimulator {
    /// Runs a scenario from the current time on, and moves the clock as the scenario requires. Each
    /// run has a new account.
    package func run(_ scenario: Scenario) async throws -> ScenarioRun {
        var number = 1
        while world.accounts[
            Account.Key(name: "\(scenario.name)-\(number)", environment: .production)] != nil
        {
            number += 1
        }
        let account = "\(scenario.name)-\(number)"
        let device = try await addDevice(account: account)
        var run = ScenarioRun(
            scenario: scenario, account: account, deviceID: device,
            groundTruth: try groundTruth(of: account))
        let play = ScenarioPlay(account: account, deviceID: device)
        for step in scenario.steps {
            let what = try await play.perform(step, in: self)
            run.steps.append((clock.now, what))
            appendToLog(
                .scenario, [("account", .string(account)), ("step", .string(what))])
        }
        run.notifications = notifications.map(\.draft).filter { $0.account == account }
        run.groundTruth = try groundTruth(of: account)
        return run
    }
}

/// A scenario being played, with the account and the device that its steps are about.
private struct ScenarioPlay {
    let account: String
    let deviceID: String

    /// Performs one step, and returns its description.
    func perform(
        _ step: Scenario.Step, in simulator: isolated AppStoreSimulator
    ) async throws -> String {
        switch step {
        case .buy(let wish):
            let order = try order(wish, in: simulator)
            _ = try await simulator.purchase(order, on: deviceID)
            return "buys \(order.productID)"
        case .act(let act): return try await perform(act, in: simulator)
        case .change(let wish):
            return try await perform(changeOfProduct(wish, in: simulator), in: simulator)
        case .raisePrice(let needsConsent):
            return try await perform(priceRise(needsConsent, in: simulator), in: simulator)
        case .wait(let text):
            try await simulator.advance(by: duration(text))
            return "\(text) pass"
        case .outage(let days):
            let until = simulator.world.calendar.moment(
                simulator.clock.now, plus: .days(Int(days)))
            let outage = Outage(from: simulator.clock.now, until: until)
            simulator.setFaults { $0.notificationOutage = outage }
            return "no notifications for \(days) days"
        case .strike(let fault):
            try strike(next: fault, in: simulator)
            return "the next notification meets \(fault.rawValue)"
        }
    }

    private func perform(
        _ act: SubscriptionAct, in simulator: isolated AppStoreSimulator
    ) async throws -> String {
        let chain = try chain(in: simulator.world)
        try await simulator.change(chain, act)
        return act.description
    }

    // These functions are separate from the async ones, because the compiler cannot optimise an
    // async function with both typed and untyped errors.

    private func order(
        _ wish: Scenario.ProductKind, in simulator: isolated AppStoreSimulator
    ) throws(SimulatorProblem) -> PurchaseOrder {
        // A trial is used only if the scenario needs a product with a trial.
        let offer = wish == .withTrial ? nil : PurchaseOrder.noOffer
        return PurchaseOrder(try product(wish, in: simulator).id, offerID: offer)
    }

    private func changeOfProduct(
        _ wish: Scenario.ProductKind, in simulator: isolated AppStoreSimulator
    ) throws(SimulatorProblem) -> SubscriptionAct {
        .changeProduct(try product(wish, in: simulator).id)
    }

    private func priceRise(
        _ needsConsent: Bool, in simulator: isolated AppStoreSimulator
    ) throws(SimulatorProblem) -> SubscriptionAct {
        let chain = try chain(in: simulator.world)
        let price = try simulator.world.subscription(chain).nextProduct.price
        return .raisePrice(.init(price: price * 2, needsConsent: needsConsent))
    }

    private func duration(_ text: String) -> ISODuration {
        guard let duration = ISODuration(text) else {
            preconditionFailure("The duration \(text) of a built-in scenario is not valid.")
        }
        return duration
    }

    private func strike(
        next fault: NotificationFault, in simulator: isolated AppStoreSimulator
    ) throws(SimulatorProblem) {
        try simulator.setFaults { faults throws(SimulatorProblem) in
            try faults.notifications.order([fault])
        }
    }

    private func chain(in world: World) throws(SimulatorProblem) -> String {
        let key = Account.Key(name: account, environment: .production)
        guard let chain = world.accounts[key]?.chains.values.max() else {
            throw .unknownSubscription(account)
        }
        return chain
    }

    /// The first product of the shop that matches a scenario's requirement.
    private func product(
        _ wish: Scenario.ProductKind, in simulator: isolated AppStoreSimulator
    ) throws(SimulatorProblem) -> StoreKitProduct {
        let products = simulator.settings.shop.groups.flatMap(\.subscriptions)
        let found: StoreKitProduct?
        switch wish {
        case .monthly: found = products.first { $0.isMonthly && products.hasNeighbours(of: $0) }
        case .withTrial:
            found = products.first { $0.subscription?.introductoryOffer?.discount == .freeTrial }
        case .higher, .lower:
            let chain = try chain(in: simulator.world)
            let present = try simulator.world.subscription(chain).latest.product
            found = products.first { wish == .higher ? $0.isAbove(present) : present.isAbove($0) }
        }
        guard let found else {
            throw SimulatorProblem(
                "scenario_needs_product", "The shop does not sell \(wish.rawValue).",
                remedy: "POST /_sim/reset {\"shop\": \"full\"} loads a shop with everything.")
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
    /// Whether a product has both a higher and a lower neighbour. Scenarios about changes prefer
    /// such a product.
    fileprivate func hasNeighbours(of product: StoreKitProduct) -> Bool {
        let isBetween = { (one: StoreKitProduct) in
            contains { $0.isAbove(one) } && contains { one.isAbove($0) }
        }
        return isBetween(product) || !contains(where: isBetween)
    }
}
