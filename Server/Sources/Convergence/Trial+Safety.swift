import AppStoreFormats
import Engine
import Ledger
import Simulator

// What must be true at every moment, whatever fails.

extension Trial {
    /// Compares every answer with the ground truth.
    func look() async throws {
        report.figures.looks += 1
        try await expectNothingOfThief()
        let sent = await simulator.notifications
        for name in accounts {
            let books = await books(of: name)
            guard !books.isEmpty else { continue }
            let state = try await answer(to: name, books)
            try expectSafety(of: books, state)
            noteSeen(in: state)
            if plan.speech != .modern, hasConverged { try await excuseUnasked(books, state) }
            // A server that has received everything must know everything, in whatever order it
            // came. Version 1 notifications do not report everything.
            let heardAll =
                plan.speech == .modern
                && sent.allSatisfy {
                    $0.notice.account != name || evidence.acknowledged.contains($0.notice.uuid)
                }
            if heardAll { report.tally.add("everything was received") }
            if heardAll || hasConverged { try expectTruth(of: name, books, state) }
        }
    }

    func answer(to name: String, _ books: [BookedPurchase]) async throws -> CustomerState {
        try await auditor.customer(
            customer(of: name), app: House.app, environment: Ledger.Environment(books))
    }

    func expectSafety(of books: [BookedPurchase], _ state: CustomerState) throws {
        for booked in books where linked.contains(booked.originalTransactionID) {
            try expectSafety(of: booked, state)
        }
    }

    private func expectSafety(of booked: BookedPurchase, _ state: CustomerState) throws {
        let ours = state.purchases.first {
            $0.timeline.purchase.original.rawValue == booked.originalTransactionID
        }
        guard let ours else {
            throw breach("ownership", "\(booked.originalTransactionID) no longer has an owner")
        }
        guard let access = ours.access else { return }
        let safety = Safety(evidence: evidence, now: now)
        if let breach = safety.breach(of: booked, access) { throw breach }
        if access.isOpen, !booked.isOpen, booked.period != nil {
            report.tally.add("open after its end, not reported")
        }
        if booked.isOpen, !access.isOpen { report.tally.add("shut although paid, not reported") }
        if access.state == .unconfirmed { report.tally.add("held open") }
    }

    func breach(_ oracle: String, _ words: String) -> Breach {
        Breach(oracle, at: now, words)
    }
}
