import AppStoreFormats
import Simulator

// The customer who follows a script.

extension Trial {
    /// The scripted customer, and a relative who shares the purchase.
    static let scripted = "called"
    private static let relative = "relative"

    /// Adds the scripted customer and schedules the steps.
    func addScriptedCustomer() async throws {
        guard let calling else { return }
        let family = calling.isShared ? "household" : nil
        for name in calling.isShared ? [Self.scripted, Self.relative] : [Self.scripted] {
            try await simulator.addDevice(account: name, family: family)
            accounts.append(name)
        }
        var lots = plan.random("calling")
        let spare = max(1, (plan.days - calling.days) * 24)
        var at = Plan.start.milliseconds + Int64(lots.number(in: 0...spare - 1)) * 3_600_000
        for (number, stage) in calling.stages.enumerated() {
            // Steps are taken at a random time within half an hour, so that their distance from the
            // end of a period varies.
            at += Int64(stage.hours) * 3_600_000
            schedule.add(
                .step(number), at: plan.moment(at + Int64(lots.fraction() * 1_800_000)))
        }
    }

    /// Takes one step. The App Store may reject the step, because a random change may have come
    /// first. That is not a failure.
    func perform(step number: Int) async throws {
        guard let step = calling?.stages[number].step else { return }
        do {
            try await perform(step)
            report.log("step: \(step)", at: now)
        } catch let refusal as SimulatorProblem {
            report.log("step refused: \(refusal.code)", at: now)
            report.tally.add("step rejected by the App Store")
        }
    }

    private func perform(_ step: ScriptedCase.Step) async throws {
        switch step {
        case .buy(let order):
            let bought = try await simulator.purchase(order, on: Self.scripted + "-1")
            guard !(isStormy && plan.has(.lostPosts)) else { return }
            guard isModern() else { return try await postReceipt(of: Self.scripted) }
            try await post([bought.signedTransaction], [], of: Self.scripted)
        case .act(let act):
            let chain = await groundTruth(of: Self.scripted).last { $0.renewsTo != nil }
            guard let chain else { return }
            try await simulator.change(chain.originalTransactionID, act)
        case .transactionAct(let act):
            let charge = await groundTruth(of: Self.scripted).last?.charges.last
            guard let charge else { return }
            try await simulator.change(transaction: charge.transactionID, act)
        case .extendAll(let product):
            try await simulator.extendAll(product, days: 9, requestID: "called")
        case .sendTest: try await simulator.sendTest()
        case .remindOfExternalPurchase: try await simulator.remindOfExternalPurchase()
        case .rescindConsent: try await simulator.rescindConsent(of: Self.scripted)
        }
    }
}
