/// The status of a purchase, as reported before and after a change: which access it gives, and
/// whether it continues.
package struct PurchaseStatus: Hashable, Sendable {
    package var product: ProductID
    /// The state of the access. Nil if the purchase gives no access by time or ownership, such as a
    /// consumable, or no access yet.
    package var state: Access.State?
    /// If access is open, the time when it ends unless something else happens. Nil if it never ends
    /// by itself, or if access is shut.
    package var until: Instant?
    /// Whether the next renewal continues the access. Nil if the App Store has not reported it.
    package var willRenew: Bool?

    package init(
        product: ProductID, state: Access.State? = nil, until: Instant? = nil,
        willRenew: Bool? = nil
    ) {
        self.product = product
        self.state = state
        self.until = until
        self.willRenew = willRenew
    }

    package var isOpen: Bool { state?.isOpen ?? false }
}

extension Timeline {
    /// The status of this purchase at a moment. Returns nil if no payment is known.
    ///
    /// The status follows from ``access(at:rules:through:)``, with one exception: just after a
    /// period's end, the notification about the renewal is probably on its way. For that time, the
    /// status from before the end stays in force.
    package func status(at now: Instant, rules: AccessRules = AccessRules()) -> PurchaseStatus? {
        status(from: reportedAccess(at: now, rules: rules))
    }

    /// The status that follows from an access. Without an access, the status contains only the last
    /// product. Returns nil if there is no period either.
    func status(from access: Access?) -> PurchaseStatus? {
        guard let access else { return periods.last.map { PurchaseStatus(product: $0.product) } }
        return PurchaseStatus(access)
    }

    /// The access that ``status(at:rules:)`` is based on.
    func reportedAccess(at now: Instant, rules: AccessRules) -> Access? {
        let access = access(at: now, rules: rules)
        guard case .unconfirmed(let since, _)? = access?.reason, let period = period(at: now),
            now < since + period.notificationWait, period.from < since
        else { return access }
        // The recursion is necessary because the App Store can extend an end by less than the
        // waiting time. Then the waiting time after the earlier end may still be running just
        // before this end.
        return reportedAccess(at: since - .milliseconds(1), rules: rules)
    }
}

extension PurchaseStatus {
    init(_ access: Access) {
        self.init(
            product: access.product, state: access.state,
            until: access.isOpen ? access.until : nil, willRenew: access.willRenew)
    }
}
