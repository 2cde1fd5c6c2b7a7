import AppStoreFormats
import Engine
import Ledger
import Simulator

// What must be true at every moment, whatever fails.

extension Trial {
    /// Compares every answer with the ground truth.
    func checkAnswers() async throws {
        report.statistics.looks += 1
        try await expectThiefOwnsNothing()
        try await expectRobbersOwnNothing()
        try await expectSecondDevicesHaveAccess()
        let sent = await simulator.notifications
        for name in accounts {
            let books = await groundTruth(of: name)
            guard !books.isEmpty else { continue }
            let state = try await response(to: name, books)
            try expectSafety(of: books, state)
            recordMilestones(in: state)
            if plan.clientEra != .modern, hasConverged { try await excuseUnchecked(books, state) }
            // A server that has received all documents must know everything, in whatever order they
            // arrived. Version 1 notifications do not report everything.
            let heardAll =
                plan.clientEra == .modern && !hasUntoldRefunds(books)
                && sent.allSatisfy {
                    $0.draft.account != name || evidence.acknowledged.contains($0.draft.uuid)
                }
            if heardAll { report.tally.add("everything was received") }
            if heardAll || hasConverged { try expectTruth(of: name, books, state) }
        }
    }

    /// Whether the App Store may have refunded seats of several transactions, but reported the
    /// refund only in one of these transactions.
    private func hasUntoldRefunds(_ books: [TruePurchase]) -> Bool {
        plan.seatHabits.contains(.seatRefundToldOnce) && books.contains { $0.seats != nil }
    }

    func response(to name: String, _ books: [TruePurchase]) async throws -> CustomerState {
        try await auditor.customers.find(
            customer(of: name), app: TrialFixture.app, environment: Ledger.Environment(books))
    }

    func expectSafety(of books: [TruePurchase], _ state: CustomerState) throws {
        for booked in books where linked.contains(booked.originalTransactionID) {
            try expectSafety(of: booked, state)
        }
    }

    private func expectSafety(of booked: TruePurchase, _ state: CustomerState) throws {
        let ours = state.purchases.first {
            $0.timeline.purchase.original.rawValue == booked.originalTransactionID
        }
        guard let ours else {
            throw violation("ownership", "\(booked.originalTransactionID) no longer has an owner")
        }
        guard let access = ours.access else { return }
        let safety = SafetyOracle(evidence: evidence, now: now)
        if let breach = safety.violation(of: booked, access) { throw breach }
        if access.isOpen, !booked.isOpen, booked.period != nil {
            report.tally.add("open after its end, not reported")
        }
        if booked.isOpen, !access.isOpen { report.tally.add("shut although paid, not reported") }
        if access.state == .unconfirmed { report.tally.add("held open") }
    }

    func violation(_ oracle: String, _ words: String) -> Violation {
        Violation(oracle, at: now, words)
    }
}
