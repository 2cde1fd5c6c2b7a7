import AppStoreFormats
import Engine
import Ledger
import Simulator

// What must be so at every moment, whatever goes wrong.

extension Trial {
    /// How long an answer may stay open past an end that nobody has told us the sequel of.
    static let hold = AccessRules.unconfirmedHoldDefault.inMilliseconds
    private static let skew = Timeline.clockSkewMax.inMilliseconds

    /// Holds every answer against the books.
    func look() async throws {
        report.figures.looks += 1
        let sent = await simulator.notifications
        for name in accounts {
            let books = await books(of: name)
            guard !books.isEmpty else { continue }
            let state = try await answer(to: name, books)
            try expectSafety(of: books, state)
            // Who has heard everything must know everything, in whatever order it came.
            let heardAll = sent.allSatisfy {
                $0.notice.account != name || evidence.acknowledged.contains($0.notice.uuid)
            }
            if heardAll { report.tally.add("everything was heard") }
            if heardAll || hasConverged { try expectTruth(of: name, books, state) }
        }
    }

    func answer(to name: String, _ books: [BookedPurchase]) async throws -> CustomerState {
        try await auditor.customer(
            CustomerID(rawValue: name), app: House.app, environment: Ledger.Environment(books))
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
            throw breach("ownership", "\(booked.originalTransactionID) is nobody's any more")
        }
        guard let access = ours.access else { return }
        if booked.isOpen, !access.isOpen, let reason = evidenceThatOpens(booked) {
            throw breach("never shut", "\(Holding(booked)), and \(reason); but \(access)")
        }
        if access.isOpen, !booked.isOpen, booked.period != nil {
            let horizon = evidence.horizon(of: booked.originalTransactionID) ?? .min
            guard now < horizon + Self.hold + Self.skew else {
                let heard = Instant(milliseconds: max(0, horizon))
                throw breach(
                    "never open",
                    "\(Holding(booked)), and nothing later than \(heard) was told;"
                        + " but \(access)")
            }
            report.tally.add("open although over, not heard")
        }
        if booked.isOpen, !access.isOpen { report.tally.add("shut although paid, not heard") }
        if access.state == .unconfirmed { report.tally.add("held open") }
    }

    /// Why the server must know that a purchase is open; nil where it need not.
    private func evidenceThatOpens(_ booked: BookedPurchase) -> String? {
        let original = booked.originalTransactionID
        guard let from = booked.period?.lowerBound ?? booked.charges.first?.at else { return nil }
        let told = evidence.period(of: original, from: from.milliseconds)
        if let told, told.revocationDate == nil, told.isUpgraded != true {
            let isRunning = told.expiresDate.map { $0.milliseconds > now } ?? true
            if isRunning { return "its period was told" }
            let grace = evidence.renewal(of: original)?.gracePeriodExpiresDate
            if booked.isInGrace, let grace, grace.milliseconds > now { return "grace was told" }
        }
        return isWithinHold(original) ? "nothing was told since its period" : nil
    }

    /// Whether the last that was told is a period that ended less than a hold ago, and would be
    /// followed by another.
    private func isWithinHold(_ original: String) -> Bool {
        guard let last = evidence.lastPeriod(of: original), last.revocationDate == nil,
            last.isUpgraded != true, let end = last.expiresDate?.milliseconds,
            let word = evidence.lastWord(of: original), word < end
        else { return false }
        let renewal = evidence.renewal(of: original)
        let goesOn = renewal.map { $0.autoRenewStatus == .on && $0.expirationIntent == nil } ?? true
        return goesOn && end <= now && now < end + Self.hold
    }

    func breach(_ oracle: String, _ words: String) -> Breach {
        Breach(oracle: oracle, words: "at \(Instant(milliseconds: now)): \(words)")
    }
}
