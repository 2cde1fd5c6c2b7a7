import AppStoreFormats
import Engine
import Ledger
import Simulator
import Storage

// Persons whom random lives do not bring about: one whose purchases name them before we know them,
// one who uses both environments, and one who has themselves erased and comes back.

extension Trial {
    /// The store accounts of these persons.
    static let named = "named"
    private static let both = "both"
    /// Of the same customer as `both`, in the sandbox.
    private static let tester = "tester"
    /// The account token of the account `named`, which is its customer id of ours, too.
    private static let token = CustomerID(rawValue: "5F0C1B3A-8F4E-4B52-9E0D-6A1C2D3E4F50")
    /// Somebody who gets hold of what others bought.
    private static let stranger = CustomerID(rawValue: "stranger")

    /// What these persons buy.
    private static let wishes = ["seeds", "seeds", "atlas", "weeks.one", "tiers.silver"]
    private static let purchasesMax = 5
    private static let copiesMax = 3
    private static let erasuresMax = 3

    /// The customer for whom the app of an account speaks.
    func customer(of account: String) -> CustomerID {
        customers[account] ?? CustomerID(rawValue: account)
    }

    // MARK: - The plan

    /// Lets these persons come, each where the plan has its family.
    func comePeople() async throws {
        if plan.has(.strangers) {
            try await simulator.addDevice(
                account: Self.named, appAccountToken: Self.token.rawValue)
            accounts.append(Self.named)
            customers[Self.named] = Self.token
        }
        if plan.has(.bothEnvironments) {
            try await simulator.addDevice(account: Self.both)
            try await simulator.addDevice(account: Self.tester, environment: .sandbox)
            accounts += [Self.both, Self.tester]
            customers[Self.tester] = customer(of: Self.both)
        }
    }

    /// Adds what these persons do to the agenda.
    func planPeople(_ start: Int64, _ length: Int64) {
        var lots = plan.lots("people")
        func moment() -> Int64 { plan.moment(start + Int64(lots.fraction() * Double(length))) }
        for (number, name) in accounts.enumerated()
        where [Self.named, Self.both, Self.tester].contains(name) {
            for _ in 0..<lots.number(in: 1...Self.purchasesMax) {
                let at = moment()
                agenda.add(
                    .buy(account: number, product: lots.pick(Self.wishes) ?? "seeds"), at: at)
                // At once, before the app has posted it; or later, when its owner may be known.
                if name == Self.named, lots.happens(0.7) {
                    agenda.add(.copy(account: number), at: lots.happens(0.5) ? at : moment())
                }
            }
        }
        guard plan.has(.erasures) else { return }
        for _ in 0..<lots.number(in: 1...Self.erasuresMax) {
            let number = lots.number(in: 0...accounts.count - 1)
            agenda.add(.erase(account: number), at: moment())
        }
    }

    // MARK: - What they do

    /// Somebody buys. The store may refuse: they may have it already.
    func buy(_ product: String, account: Int) async {
        let order = PurchaseOrder(product, offerID: PurchaseOrder.noOffer)
        do {
            try await simulator.purchase(order, on: accounts[account] + "-1")
            report.tally.add("bought by a person of the plan")
        } catch { report.tally.add("purchase refused by the store") }
    }

    /// The stranger posts copies of what an account bought. The purchases name their buyer, so
    /// every such posting must be refused, whether or not the buyer is known to us.
    func postCopies(account: Int) async throws {
        let name = accounts[account]
        guard let server = anyServer(), !erased.contains(customer(of: name)) else { return }
        let copies = try await simulator.transactions(on: name + "-1", last: Self.copiesMax)
        guard !copies.isEmpty else { return }
        let letters = copies.compactMap { Letter(transaction: $0) }
        for letter in letters { evidence.offer(letter, at: now) }
        for booked in await books(of: name) { reach(booked) }
        do {
            _ = try await server.engine.record(
                PurchaseEvidence(signedTransactions: copies), of: Self.stranger, app: House.app)
            throw breach("ownership", "a stranger's posting of what \(name) bought was accepted")
        } catch let failure as EngineFailure {
            if case .belongsToAnotherCustomer = failure {
                // Refused, and yet kept: what the documents say of the purchase is true.
                for letter in letters { evidence.take(letter, at: now) }
                report.tally.add("stranger's posting refused")
            }
        }
        await bury()
    }

    /// A customer has themselves erased. A server may die over it: then it is done once more.
    func erase(account: Int) async throws {
        guard let server = anyServer() else { return }
        let id = customer(of: accounts[account])
        let spent = try await consumables(of: id)
        do { _ = try await server.engine.erase(id, app: House.app) } catch {
            try excuse(error, server)
            _ = try await auditor.erase(id, app: House.app)
        }
        erased.insert(id)
        usedUp.formUnion(spent)
        for name in accounts where customer(of: name) == id {
            linked.subtract(await books(of: name).map(\.originalTransactionID))
        }
        report.tally.add("customer erased")
        await bury()
    }

    /// The first transactions of what is used up and answers for a customer now.
    private func consumables(of id: CustomerID) async throws -> Set<String> {
        var found: Set<String> = []
        for environment in Ledger.Environment.allCases {
            let state = try await auditor.customer(id, app: House.app, environment: environment)
            for timeline in state.purchases.map(\.timeline)
            where timeline.periods.contains(where: { $0.payment.kind == .consumable }) {
                found.insert(timeline.purchase.original.rawValue)
            }
        }
        return found
    }

    // MARK: - What must be so

    /// Whether a posting may be refused for good: it holds what was used up by a person who was
    /// erased. All else in it was kept.
    func isExcused(_ failure: EngineFailure, of name: String) -> Bool {
        guard case .belongsToAnotherCustomer(_, .usedUp) = failure else { return false }
        return erased.contains(customer(of: name))
    }

    /// The stranger never has anything.
    func expectNothingOfStranger() async throws {
        guard plan.has(.strangers), erased.isEmpty else { return }
        for environment in Ledger.Environment.allCases {
            let state = try await auditor.customer(
                Self.stranger, app: House.app, environment: environment)
            guard state.purchases.isEmpty, state.entitlements.isEmpty else {
                throw breach("ownership", "the stranger has \(state.purchases.map(\.timeline))")
            }
        }
    }
}
