/// What is told of a purchase before and after a change: what it gives, and whether it goes on.
package struct Condition: Hashable, Sendable {
    package var product: ProductID
    /// Nil for what gives nothing by time or ownership, such as a consumable, or not yet.
    package var state: Access.State?
    /// Open: where it ends if nothing else happens. Nil: never by itself, or it is shut.
    package var until: Instant?
    /// Nil where the store has not told us.
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
    /// The condition of this purchase at a moment; nil where nothing was bought that we know of.
    ///
    /// It is what ``access(at:rules:)`` says, with one exception: after a period's end the news is
    /// on its way as a rule. As long as it may be, the period counts as the last that was told.
    package func condition(at now: Instant, rules: AccessRules = AccessRules()) -> Condition? {
        condition(from: patientAccess(at: now, rules: rules))
    }

    /// The condition that an access makes. Nil where nothing gives access: then it tells
    /// the last product alone.
    func condition(from access: Access?) -> Condition? {
        guard let access else { return periods.last.map { Condition(product: $0.product) } }
        return Condition(access)
    }

    /// The access that ``condition(at:rules:)`` is made of.
    func patientAccess(at now: Instant, rules: AccessRules) -> Access? {
        let access = access(at: now, rules: rules)
        guard case .unconfirmed(let since, _)? = access?.reason, let period = period(at: now),
            now < since + period.patience, period.from < since
        else { return access }
        // Patience may have held then as well: the store can put an end off by less than that.
        return patientAccess(at: since - .milliseconds(1), rules: rules)
    }
}

extension Condition {
    init(_ access: Access) {
        self.init(
            product: access.product, state: access.state,
            until: access.isOpen ? access.until : nil, willRenew: access.willRenew)
    }
}
