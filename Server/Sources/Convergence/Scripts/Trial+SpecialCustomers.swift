import AppStoreFormats
import Engine
import Ledger
import Simulator
import Storage

// Customers that random behaviour does not produce: a customer who uses both environments, and a
// customer who is erased and returns.

extension Trial {
    /// The store accounts of one customer: in production, and in the sandbox.
    private static let both = "both"
    private static let tester = "tester"

    /// The products that these customers buy.
    private static let products = ["seeds", "seeds", "atlas", "weeks.one", "tiers.silver"]
    private static let purchasesMax = 5
    private static let erasuresMax = 3

    // MARK: - The plan

    /// Adds these customers if the plan includes them.
    func addSpecialCustomers() async throws {
        guard plan.has(.bothEnvironments) else { return }
        try await simulator.addDevice(account: Self.both)
        try await simulator.addDevice(account: Self.tester, environment: .sandbox)
        accounts += [Self.both, Self.tester]
        for name in [Self.both, Self.tester] {
            customers[name] = CustomerID(rawValue: Self.both)
        }
    }

    /// Schedules the acts of these customers.
    func scheduleSpecialCustomers(_ start: Int64, _ length: Int64) {
        var lots = plan.random("people")
        func moment() -> Int64 { plan.moment(start + Int64(lots.fraction() * Double(length))) }
        for (number, name) in accounts.enumerated() where [Self.both, Self.tester].contains(name) {
            for _ in 0..<lots.number(in: 1...Self.purchasesMax) {
                let product = lots.pick(Self.products) ?? "seeds"
                schedule.add(.buy(account: number, product: product), at: moment())
            }
        }
        guard plan.has(.erasures) else { return }
        for _ in 0..<lots.number(in: 1...Self.erasuresMax) {
            let number = lots.number(in: 0...accounts.count - 1)
            schedule.add(.erase(account: number), at: moment())
        }
    }

    // MARK: - What they do

    /// Lets a customer buy. The App Store may reject the purchase if the customer already has the
    /// product.
    func buy(_ product: String, account: Int) async {
        let order = PurchaseOrder(product, offerID: PurchaseOrder.noOffer)
        do {
            try await simulator.purchase(order, on: accounts[account] + "-1")
            report.tally.add("purchase by a special customer")
        } catch { report.tally.add("purchase rejected by the App Store") }
    }

    /// Erases a customer. If the server crashes meanwhile, the erasure is repeated.
    func erase(account: Int) async throws {
        guard let server = anyServer() else { return }
        let id = await customer(of: accounts[account])
        let spent = try await consumables(of: id)
        do { _ = try await server.engine.customers.erase(id, app: TrialFixture.app) } catch {
            try requireCrashed(error, server)
            _ = try await auditor.customers.erase(id, app: TrialFixture.app)
        }
        erased.insert(id)
        usedUp.formUnion(spent)
        for name in accounts where await customer(of: name) == id {
            besidePosted[name] = nil
            linked.subtract(await groundTruth(of: name).map(\.originalTransactionID))
        }
        report.tally.add("customer erased")
        await scheduleRestarts()
    }

    /// The original transaction ids of the consumables that belong to a customer now.
    private func consumables(of id: CustomerID) async throws -> Set<String> {
        var found: Set<String> = []
        for environment in Ledger.Environment.allCases {
            let state = try await auditor.customers.find(
                id, app: TrialFixture.app, environment: environment)
            for timeline in state.purchases.map(\.timeline)
            where timeline.periods.contains(where: { $0.payment.kind == .consumable }) {
                found.insert(timeline.purchase.original.rawValue)
            }
        }
        return found
    }

    // MARK: - Expectations

    /// Purchases without the consumables of erased customers, because these consumables have no
    /// owner.
    func creditable(_ books: [TruePurchase]) -> [TruePurchase] {
        books.filter { !usedUp.contains($0.originalTransactionID) }
    }

    /// Whether a request with purchases may be rejected permanently. It may be rejected if it
    /// contains a consumable of an erased customer, or a purchase that was taken with a copy of a
    /// document. Everything else in the request was recorded.
    func isExcused(_ failure: EngineFailure, of name: String) async -> Bool {
        if case .belongsToAnotherCustomer(let purchase, _) = failure,
            taken[name]?.contains(purchase) == true
        {
            return true
        }
        guard case .belongsToAnotherCustomer(_, .usedUp) = failure else { return false }
        return erased.contains(await customer(of: name))
    }
}
