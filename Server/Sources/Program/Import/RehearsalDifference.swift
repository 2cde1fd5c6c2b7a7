import Engine
import Ledger
import Rehearsal
import Storage

/// One difference with its cause, and the evidence of both sides as text.
struct RehearsalDifference: Hashable, Sendable {
    /// The maximum number of documents that are named as evidence.
    private static let documentsMax = RehearsalService.documentsMax

    let customer: CustomerID
    let entitlement: EntitlementID
    let aspect: RehearsalAspect
    var cause: RehearsalCause
    let effect: RehearsalEffect
    let ours: String
    let theirs: String
    /// The evidence of this server: its documents, and other ids of the customer.
    private(set) var here: String
    /// The evidence of RevenueCat: members of its responses.
    let there: String
    private let transactionThere: TransactionID?

    /// - Parameter isOwnHere: whether the customer owns RevenueCat's transaction on this server.
    /// - Parameter there: the evidence of RevenueCat: members of its responses.
    init(
        _ customer: CustomerID, _ entitlement: EntitlementID, _ aspect: RehearsalAspect,
        _ comparison: RehearsalComparison, isOwnHere: Bool, there: String
    ) {
        self.customer = customer
        self.entitlement = entitlement
        self.aspect = aspect
        cause = comparison.cause(of: aspect)
        effect = comparison.effect
        ours = comparison.ours.description
        theirs = comparison.theirs.description
        here = Self.text(of: comparison)
        self.there = there
        transactionThere =
            comparison.effect == .loses && !isOwnHere ? comparison.theirs.transaction : nil
    }

    /// The transaction for which RevenueCat gives access. Nil if it is already known why this
    /// server gives none.
    var transactionWithoutOwner: TransactionID? {
        cause == .unexplained || cause == .familySharing ? transactionThere : nil
    }

    /// The differences about one entitlement of a customer after a second comparison. A difference
    /// that no longer exists was only a matter of timing. A difference that still exists gets its
    /// present cause. A new difference was seen only once, so it stays unexplained.
    ///
    /// - Parameters:
    ///   - first: the differences of the first comparison.
    ///   - second: the differences of the second comparison.
    static func confirmed(
        _ first: [Self], by second: [Self], at time: Instant
    ) -> [Self] {
        let known = Set(first.map(\.aspect))
        let old = first.map { difference -> Self in
            if let same = second.first(where: { $0.aspect == difference.aspect }) { return same }
            guard difference.cause.deservesSecondLook else { return difference }
            var gone = difference
            gone.agree(at: time)
            return gone
        }
        let new = second.filter { !known.contains($0.aspect) }.map { difference -> Self in
            var new = difference
            new.cause = .unexplained
            return new
        }
        return old + new
    }

    /// Records that both systems agreed at a later time.
    private mutating func agree(at time: Instant) {
        cause = .lateThere
        here = "agreed at \(time)" + (here.isEmpty ? "" : "; \(here)")
    }

    /// Unexplained differences come first.
    var order: [String] {
        let cause = RehearsalCause.allCases.firstIndex(of: cause) ?? 0
        return ["\(cause + 100)", customer.rawValue, entitlement.rawValue, aspect.rawValue]
    }

    private static func text(of comparison: RehearsalComparison) -> String {
        let missing = comparison.missingThere
        let shown = (missing ?? comparison.evidence.documents).prefix(documentsMax)
        var parts = shown.map { "document \($0.id) received \($0.receivedAt)" }
        if let missing, missing.count > shown.count {
            parts.append("and \(missing.count - shown.count) older documents")
        }
        if let id = comparison.evidence.idWithAccessHere { parts.append("open here for \(id)") }
        if let id = comparison.evidence.idWithAccessThere { parts.append("open there for \(id)") }
        return parts.joined(separator: "; ")
    }

    /// The columns of the report.
    static let columns = [
        "cause", "customer_id", "entitlement", "difference", "effect", "perennial", "revenuecat",
        "evidence_here", "evidence_there", "remedy",
    ]

    var fields: [String] {
        [
            cause.rawValue, customer.rawValue, entitlement.rawValue, aspect.rawValue,
            effect.rawValue, ours, theirs, here, there, cause.remedy,
        ]
    }
}

extension RehearsalDifference {
    /// What the dashboard shows.
    var stored: StoredDifference {
        StoredDifference(
            cause: cause.rawValue, customer: customer, entitlement: entitlement,
            aspect: aspect.rawValue, effect: effect.rawValue, ours: ours, theirs: theirs,
            evidenceHere: here, evidenceThere: there)
    }
}

/// The outcome of a rehearsal.
struct RehearsalResult: Sendable {
    var app: AppID
    var environment: Environment
    var begin: Instant
    var end: Instant
    var rules: RehearsalRules
    var summary: RehearsalSummary
    /// Whether all customers were compared. False if there are too many differences.
    var isComplete: Bool
    /// The differences, sorted by cause. Unexplained differences come first.
    var findings: [RehearsalDifference]
}

extension RehearsalCause {
    /// Whether the difference might be gone when both systems are read again.
    var deservesSecondLook: Bool {
        switch self {
        case .unexplained, .missedThere, .refundIgnoredThere: true
        default: false
        }
    }
}
