import AppStoreFormats
import Ledger
import Simulator

/// Decides which answers are allowed at a moment, given the documents that had reached the server
/// by then.
struct SafetyOracle: Sendable {
    let evidence: Evidence
    /// The moment of the answers, in milliseconds since 1970.
    let now: Int64

    /// How long an answer may stay open after the end of a period, if nothing later was reported.
    static let hold = AccessRules.unconfirmedHoldDefault.wholeMilliseconds
    private static let skew = Timeline.clockSkewMax.wholeMilliseconds

    /// The promise that an answer about a purchase breaks. Returns nil if the answer breaks no
    /// promise.
    func violation(of booked: TruePurchase, _ access: Access) -> Violation? {
        if booked.isOpen, !access.isOpen, let reason = evidenceThatOpens(booked) {
            return Violation(
                "never shut", at: now, "\(PurchaseView(booked)), and \(reason); but \(access)")
        }
        guard access.isOpen, !booked.isOpen, booked.period != nil else { return nil }
        let horizon = evidence.horizon(of: booked.originalTransactionID) ?? .min
        guard now >= horizon + Self.hold + Self.skew else { return nil }
        let heard = Instant(milliseconds: max(0, horizon))
        return Violation(
            "never open", at: now,
            "\(PurchaseView(booked)), and nothing later than \(heard) was reported; but \(access)")
    }

    /// Why the server must know that a purchase is open. Returns nil if it need not know.
    private func evidenceThatOpens(_ booked: TruePurchase) -> String? {
        let original = booked.originalTransactionID
        guard let from = booked.period?.lowerBound ?? booked.charges.first?.at else { return nil }
        let told = evidence.period(of: original, from: from.milliseconds)
        if let told, evidence.isUnrevoked(told) {
            let isRunning = told.expiresDate.map { $0.milliseconds > now } ?? true
            if isRunning { return "its period was reported" }
            let grace = evidence.renewal(of: original)?.gracePeriodExpiresDate
            if booked.isInGrace, let grace, grace.milliseconds > now { return "grace was reported" }
        }
        return isWithinHold(original) ? "nothing was reported since its period" : nil
    }

    /// Whether the latest report is about a renewing period that ended less than ``hold`` ago.
    private func isWithinHold(_ original: String) -> Bool {
        guard let last = evidence.lastPeriod(of: original), evidence.isUnrevoked(last),
            let end = last.expiresDate?.milliseconds,
            let word = evidence.lastHeard(of: original), word < end
        else { return false }
        return evidence.isRenewing(after: last) && end <= now && now < end + Self.hold
    }
}
