package import PerennialContract

/// Whether one entitlement is open, and by which rule.
package struct AccessDecision: Hashable, Sendable {
    package var isActive: Bool
    /// Whether it is certain that the entitlement is open or shut.
    package var isKnown: Bool
    /// A state that the server can report, or `never` or `unknown`.
    package var state: AccessState
    package var until: Timestamp?
    package var willRenew: Bool?
    package var productID: String?
    package var basis: Basis
    /// When the evidence was signed. Nil if there is no evidence.
    package var asOf: Timestamp?
    /// The number of the rule that decided.
    package var rule: Int
    /// When the decision will change without new evidence. Nil if the decision will not change.
    package var changesAt: Timestamp?
    /// The considered evidence as text for people, one line for each piece of evidence.
    package var steps: [Step]

    package init(
        isActive: Bool, isKnown: Bool, state: AccessState, until: Timestamp? = nil,
        willRenew: Bool? = nil, productID: String? = nil, basis: Basis, asOf: Timestamp? = nil,
        rule: Int, changesAt: Timestamp? = nil, steps: [Step] = []
    ) {
        self.isActive = isActive
        self.isKnown = isKnown
        self.state = state
        self.until = until
        self.willRenew = willRenew
        self.productID = productID
        self.basis = basis
        self.asOf = asOf
        self.rule = rule
        self.changesAt = changesAt
        self.steps = steps
    }

    /// The kinds of evidence on which a decision can be based, strongest first. If several kinds of
    /// evidence agree, the strongest kind counts.
    package enum Basis: Int, Hashable, Sendable {
        case server, token, store, held, none
    }

    package struct Step: Hashable, Sendable {
        package var rule: Int
        package var basis: Basis
        package var originalTransactionID: String?
        /// What the evidence says, in one sentence.
        package var text: String

        package init(rule: Int, basis: Basis, originalTransactionID: String?, text: String) {
            self.rule = rule
            self.basis = basis
            self.originalTransactionID = originalTransactionID
            self.text = text
        }
    }
}

extension AccessState {
    /// The customer never had the entitlement.
    package static let never = AccessState(rawValue: "never")
    /// There is no evidence yet.
    package static let unknown = AccessState(rawValue: "unknown")
}
