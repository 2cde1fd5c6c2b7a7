import AppStoreFormats
import Simulator

// The customer who is there for one turn.

extension Trial {
    /// Who takes the turn, and a relative who shares what is bought.
    static let called = "called"
    private static let relative = "relative"

    /// Lets the customer come, and puts down what is to be done.
    func comeCalled() async throws {
        guard let calling else { return }
        let family = calling.isShared ? "household" : nil
        for name in calling.isShared ? [Self.called, Self.relative] : [Self.called] {
            try await simulator.addDevice(account: name, family: family)
            accounts.append(name)
        }
        var lots = plan.lots("calling")
        let spare = max(1, (plan.days - calling.days) * 24)
        var at = Plan.start.milliseconds + Int64(lots.number(in: 0...spare - 1)) * 3_600_000
        for (number, stage) in calling.stages.enumerated() {
            // Within the hour, so that nothing is always at the same distance from an end.
            at += Int64(stage.hours) * 3_600_000
            agenda.add(
                .step(number), at: plan.moment(at + Int64(lots.fraction() * 1_800_000)))
        }
    }

    /// Takes one step. A refusal is no failure: chance may have come before it.
    func take(step number: Int) async throws {
        guard let step = calling?.stages[number].step else { return }
        do {
            try await carryOut(step)
            report.note("step: \(step)", at: now)
        } catch let refusal as StoreProblem {
            report.note("step refused: \(refusal.code)", at: now)
            report.tally.add("step refused by the store")
        }
    }

    private func carryOut(_ step: Calling.Step) async throws {
        switch step {
        case .buy(let order):
            let bought = try await simulator.purchase(order, on: Self.called + "-1")
            guard !(isStormy && plan.has(.lostPosts)) else { return }
            guard isModern() else { return try await postReceipt(of: Self.called) }
            try await post([bought.signedTransaction], [], of: Self.called)
        case .act(let act):
            let chain = await books(of: Self.called).last { $0.renewsTo != nil }
            guard let chain else { return }
            try await simulator.change(chain.originalTransactionID, act)
        case .once(let act):
            let charge = await books(of: Self.called).last?.charges.last
            guard let charge else { return }
            try await simulator.change(transaction: charge.transactionID, act)
        case .extendAll(let product):
            try await simulator.extendAll(product, days: 9, requestID: "called")
        case .sendTest: try await simulator.sendTest()
        case .remindOfExternalPurchase: try await simulator.remindOfExternalPurchase()
        case .rescindConsent: try await simulator.rescindConsent(of: Self.called)
        }
    }
}
