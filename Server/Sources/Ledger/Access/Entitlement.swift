/// Chooses the access that decides an entitlement, from everything a customer has.
package enum Entitlement {
    /// The access that the products of an entitlement give a customer at a moment, through
    /// purchases and the terms computed from them. Returns nil if the customer never had any of
    /// these products.
    ///
    /// Open access outranks shut access. If both are open, the access that stays open longer wins.
    /// If both are shut, access whose payment is still being collected wins, because it may open
    /// again; otherwise the access that was shut last wins.
    ///
    /// - Parameter others: access to the entitlement from sources other than its products.
    package static func access(
        through products: Set<ProductID>, of timelines: [Timeline],
        _ terms: [Term] = [], besides others: [Access] = [], at now: Instant, rules: AccessRules
    ) -> Access? {
        let all =
            timelines.compactMap { $0.access(through: products, at: now, rules: rules) } + others
            + [terms.access(through: products, at: now)].compactMap(\.self)
        return all.max { $1.outranks($0) }
    }
}

extension Timeline {
    /// The access that this purchase gives through some products. The access lasts until the end of
    /// the consecutive periods that were paid for any of these products. A chain that has changed
    /// to another product gives no access through the former product.
    func access(
        through products: Set<ProductID>, at now: Instant, rules: AccessRules
    ) -> Access? {
        guard let access = access(at: now, rules: rules, through: products) else {
            return nil
        }
        if products.contains(access.product) { return access }
        if let other = access.alternative, products.contains(other) {
            var perhaps = access
            perhaps.product = other
            return perhaps
        }
        let left = periods.last {
            products.contains($0.product) && $0.from <= now && !$0.isVoid
        }
        guard let left, let end = left.openUntil, end <= now else { return nil }
        return Access(
            purchase: purchase, product: left.product, state: .expired, until: end,
            reason: .changed(to: access.product, at: end), willRenew: false)
    }
}

extension Access {
    /// Whether this access wins over another. The last two rules only make the result independent
    /// of the order of rows.
    fileprivate func outranks(_ other: Access) -> Bool {
        if isOpen != other.isOpen { return isOpen }
        if (state == .retry) != (other.state == .retry) { return state == .retry }
        if until != other.until {
            guard let until else { return isOpen }
            guard let theirs = other.until else { return !isOpen }
            return until > theirs
        }
        if state != other.state { return state.rawValue < other.state.rawValue }
        return purchase > other.purchase
    }
}
