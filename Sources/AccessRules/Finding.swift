internal import PerennialContract

/// What one purchase or one grant says about an entitlement at a given time.
struct Finding {
    var isOpen: Bool
    var state: AccessState
    /// If the finding is open: when access ends, or nil if access never ends. If the finding is
    /// shut: when access ended, or nil if that time is unknown.
    var until: Timestamp?
    var willRenew: Bool?
    var productID: String?
    var basis: AccessDecision.Basis
    var asOf: Timestamp
    var rule: Int
    var originalTransactionID: String?
    /// Returns one sentence for people. The value is a function, because most findings are never
    /// shown.
    var text: () -> String
    /// Whether the finding is shut only because neither the server nor the store has answered for
    /// too long. In fact, the entitlement may be open.
    var isSilent = false

    /// Whether this finding outranks another. Open outranks shut. If both are open, the finding
    /// that ends last counts. If both are shut, the finding that ended last counts. If both end at
    /// the same time, the finding with the stronger basis counts. The remaining comparisons only
    /// make the result independent of the order.
    func outranks(_ other: Finding) -> Bool {
        if isOpen != other.isOpen { return isOpen }
        if until != other.until {
            guard let until else { return isOpen }
            guard let theirs = other.until else { return !isOpen }
            return until > theirs
        }
        if basis != other.basis { return basis.rawValue < other.basis.rawValue }
        if asOf != other.asOf { return asOf > other.asOf }
        return (originalTransactionID ?? "", productID ?? "", state.rawValue)
            < (other.originalTransactionID ?? "", other.productID ?? "", other.state.rawValue)
    }

    var step: AccessDecision.Step {
        .init(rule: rule, basis: basis, originalTransactionID: originalTransactionID, text: text())
    }
}

extension Timestamp {
    func adding(_ milliseconds: Int64) -> Timestamp {
        let sum = self.milliseconds.addingReportingOverflow(milliseconds)
        return Timestamp(milliseconds: sum.overflow ? .max : sum.partialValue)
    }
}

extension StoreStatus {
    /// When the evidence was signed. A lapse is the device's own conclusion, so a lapse counts as
    /// signed when the device first saw it.
    var saidAt: Timestamp {
        guard state == .expired, let firstLapse else { return signedAt }
        return max(signedAt, firstLapse.seenAt)
    }

    /// Whether the status counts as proof. A lapse that was seen only once does not.
    var isReliable: Bool { state != .expired || isConfirmed }
}
