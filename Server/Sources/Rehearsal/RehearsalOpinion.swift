import Ledger

/// The answer of one of the two systems about one entitlement of a customer.
package struct RehearsalOpinion: Hashable, Sendable {
    /// The source of the access.
    package enum Basis: Hashable, Sendable {
        /// The system names no purchase and no grant that gives or gave the entitlement.
        case nothing
        /// A payment to the App Store, in the environment that is rehearsed.
        case payment
        /// A grant without a payment. RevenueCat calls it promotional.
        case grant
        /// A purchase in the sandbox, which counts in an answer about production.
        case sandbox
        /// A purchase in another store, such as `play_store`.
        case otherStore(String)
    }

    /// The state of the payment for the next period, as far as the system knows it.
    package enum Billing: String, Hashable, Sendable {
        case settled
        case grace
        case retry
        /// The period is over, and nothing is known about the renewal. Perennial keeps such access
        /// open for some time.
        case unconfirmed
    }

    package var isOpen: Bool
    /// When open access ends, unless something else happens. Nil if it never ends. Meaningless if
    /// the access is not open.
    package var until: Instant?
    /// Whether the purchase will renew. Nil if the system does not say.
    package var willRenew: Bool?
    /// The product that gives the access. Nil for a grant, and if the system does not say.
    package var product: ProductID?
    /// Whether the access comes from a purchase of a family member. Nil if the system does not say.
    package var isFamilyShared: Bool?
    /// The latest transaction of the purchase. Nil if the system does not say.
    package var transaction: TransactionID?
    package var basis: Basis
    package var billing: Billing

    package init(
        isOpen: Bool, until: Instant? = nil, willRenew: Bool? = nil, product: ProductID? = nil,
        isFamilyShared: Bool? = nil, transaction: TransactionID? = nil, basis: Basis = .payment,
        billing: Billing = .settled
    ) {
        self.isOpen = isOpen
        self.until = until
        self.willRenew = willRenew
        self.product = product
        self.isFamilyShared = isFamilyShared
        self.transaction = transaction
        self.basis = basis
        self.billing = billing
    }

    /// The opinion of a system that knows nothing about the entitlement.
    package static let none = Self(isOpen: false, basis: .nothing)

    /// The aspects in which this opinion and another opinion differ. Empty if the opinions agree.
    ///
    /// If only one system gives access, this is the only difference that is returned. If neither
    /// system gives access, the opinions agree, whatever the systems know about the past. A value
    /// is compared only if both systems report it.
    package func differences(from other: Self) -> [RehearsalAspect] {
        guard isOpen == other.isOpen else { return [.access] }
        guard isOpen else { return [] }
        var found: [RehearsalAspect] = []
        if !Self.isSame(until, other.until, within: Self.secondLength) { found.append(.until) }
        if Self.isOther(willRenew, other.willRenew) { found.append(.renewal) }
        if Self.isOther(product, other.product) { found.append(.product) }
        if Self.isOther(isFamilyShared, other.isFamilyShared) { found.append(.ownership) }
        return found
    }

    /// RevenueCat's times may be truncated to seconds.
    private static let secondLength = Duration.seconds(1)

    /// Whether the time between two ends is at most a duration. An end never equals the absence of
    /// an end.
    static func isSame(_ one: Instant?, _ other: Instant?, within tolerance: Duration) -> Bool {
        guard let one, let other else { return one == other }
        return (one < other ? other - one : one - other) <= tolerance
    }

    /// Whether one end is later than another. The absence of an end is later than any end.
    static func isLater(_ one: Instant?, than other: Instant?) -> Bool {
        guard let other else { return false }
        return one.map { $0 > other } ?? true
    }

    private static func isOther<Value: Equatable>(_ one: Value?, _ other: Value?) -> Bool {
        guard let one, let other else { return false }
        return one != other
    }
}

/// The part of two opinions that differs.
package enum RehearsalAspect: String, Hashable, Sendable, CaseIterable {
    case access
    case until
    case renewal = "will_renew"
    case product
    case ownership
}

extension RehearsalOpinion: CustomStringConvertible {
    /// The opinion as words, for a report, such as `open until 2026-12-01T10:00:00.000Z, renews`.
    package var description: String {
        var words = [isOpen ? "open" : "closed"]
        if isOpen { words[0] += until.map { " until \($0)" } ?? " without end" }
        if isOpen, let willRenew { words.append(willRenew ? "renews" : "does not renew") }
        if let product { words.append(product.rawValue) }
        if isFamilyShared == true { words.append("family member") }
        if billing != .settled { words.append(billing.rawValue) }
        switch basis {
        case .payment, .nothing: break
        case .grant: words.append("granted")
        case .sandbox: words.append("sandbox")
        case .otherStore(let store): words.append(store)
        }
        if let transaction { words.append("transaction \(transaction)") }
        return words.joined(separator: ", ")
    }
}
