package import PerennialContract

/// What the server said about one customer: an answer, or a stored token.
package struct ServerEvidence: Hashable, Sendable {
    /// The time that the answer or token describes, by the server's clock.
    package var asOf: Timestamp
    /// Whether this process has received the evidence as an answer. False for a stored token.
    package var isLive: Bool
    /// The time until which an offline device may rely on an entitlement that has no end, or that
    /// only the server grants. Nil if the server signs no tokens: the device may then rely on such
    /// an entitlement until the process ends.
    package var offlineUntil: Timestamp?
    /// What the customer may use, by entitlement. A token contains only active entitlements.
    package var rights: [String: Right]
    /// The owner of each purchase, by original transaction id.
    package var verdicts: [String: Verdict]

    package init(
        asOf: Timestamp, isLive: Bool, offlineUntil: Timestamp?, rights: [String: Right],
        verdicts: [String: Verdict]
    ) {
        self.asOf = asOf
        self.isLive = isLive
        self.offlineUntil = offlineUntil
        self.rights = rights
        self.verdicts = verdicts
    }

    package struct Right: Hashable, Sendable {
        package var isActive: Bool
        package var state: AccessState
        package var until: Timestamp?
        /// Whether the entitlement may renew at ``until``: it comes from a renewing subscription
        /// whose renewal is not known to be off. Only such an entitlement is held open after its
        /// end.
        package var mayRenew: Bool
        /// Whether the subscription renews. Nil if the App Store has not said.
        package var willRenew: Bool?
        /// The product that gives the entitlement. Nil for a grant, and in a token.
        package var productID: String?
        /// The purchase that gives the entitlement. Nil for a grant.
        package var originalTransactionID: String?

        package init(
            isActive: Bool, state: AccessState, until: Timestamp?, mayRenew: Bool = false,
            willRenew: Bool? = nil, productID: String? = nil, originalTransactionID: String? = nil
        ) {
            self.isActive = isActive
            self.state = state
            self.until = until
            self.mayRenew = mayRenew
            self.willRenew = willRenew
            self.productID = productID
            self.originalTransactionID = originalTransactionID
        }
    }
}

/// The owner of a purchase according to the server.
package enum Verdict: Hashable, Sendable {
    /// The purchase belongs to the customer, alone or with others.
    case theirs
    /// The purchase belongs to an anonymous customer. So the purchase can count here without being
    /// taken from a person.
    case anonymous
    /// The purchase belongs to another person.
    case anotherPerson
}
