/// Somebody's device shows a purchase: whose it is now, and all else that decides what comes of it.
///
/// What a person has decided weighs most, then the account that the app named at the purchase, then
/// which device showed it first. A purchase never moves but by the app's own policy, and what is
/// used up never does: it would be spent by one and had by another.
package struct Claim: Hashable, Sendable {
    /// Nil while it is nobody's.
    package var owner: Owner?
    /// Whom the purchase itself names, where that is a customer, or the claimant.
    package var named: CustomerID?
    /// Nil for an id never heard of, which the purchase does not name either.
    package var claimant: CustomerID?
    /// The claimant has a share in it already.
    package var isShared: Bool
    /// A person has taken a share of the claimant's in it back.
    package var isShareUndone: Bool
    /// It gives its owner something now.
    package var isInUse: Bool
    /// Something that is used up is among what was bought.
    package var isUsedUp: Bool

    package struct Owner: Hashable, Sendable {
        package var customer: CustomerID
        package var evidence: Evidence
        /// Nobody else may take it.
        package var isBlocked: Bool

        package init(_ customer: CustomerID, by evidence: Evidence, isBlocked: Bool = false) {
            self.customer = customer
            self.evidence = evidence
            self.isBlocked = isBlocked
        }
    }

    package init(
        owner: Owner?, named: CustomerID?, claimant: CustomerID?, isShared: Bool = false,
        isShareUndone: Bool = false, isInUse: Bool = false, isUsedUp: Bool = false
    ) {
        self.owner = owner
        self.named = named
        self.claimant = claimant
        self.isShared = isShared
        self.isShareUndone = isShareUndone
        self.isInUse = isInUse
        self.isUsedUp = isUsedUp
    }

    /// Why a purchase is a customer's.
    package enum Evidence: String, Hashable, Sendable {
        /// A device of theirs posted it.
        case device
        /// It carries an account token that is an id of theirs.
        case token
        /// A person said so.
        case support
    }

    /// What becomes of a purchase that is another customer's.
    package enum Policy: String, Hashable, Sendable, CaseIterable {
        /// It stays with whom it was first.
        case keep
        /// It goes to whoever showed it last.
        case transfer
        /// It goes to whoever shows it when it gives nothing any more.
        case transferIfInactive = "transfer_if_inactive"
        /// Both have it.
        case share
    }

    package enum Verdict: Hashable, Sendable {
        /// It is the claimant's already, or they have their share.
        case theirs
        /// It was nobody's, and becomes theirs.
        case link(by: Evidence)
        /// It becomes theirs, and is the owner's no more.
        case move(by: Evidence)
        case share
        case refuse(Refusal)
    }

    package enum Refusal: String, Hashable, Sendable, CaseIterable {
        /// The policy leaves it with its owner.
        case kept
        /// It names another customer.
        case namesAnother = "names_another"
        case inUse = "in_use"
        case blocked
        case decidedBySupport = "decided_by_support"
        /// What is used up stays where it was credited.
        case usedUp = "used_up"
    }

    package func verdict(under policy: Policy) -> Verdict {
        let isNamed = named != nil && named == claimant
        guard let owner else {
            if named != nil && !isNamed { return .refuse(.namesAnother) }
            return .link(by: isNamed ? .token : .device)
        }
        if owner.customer == claimant { return .theirs }
        if isShared && policy == .share { return .theirs }
        if owner.isBlocked { return .refuse(.blocked) }
        if owner.evidence == .support { return .refuse(.decidedBySupport) }
        if isUsedUp { return .refuse(.usedUp) }
        if isNamed { return .move(by: .token) }
        if named != nil { return .refuse(.namesAnother) }
        return verdict(ofDevice: policy)
    }

    private func verdict(ofDevice policy: Policy) -> Verdict {
        switch policy {
        case .keep: .refuse(.kept)
        case .transfer: .move(by: .device)
        case .transferIfInactive: isInUse ? .refuse(.inUse) : .move(by: .device)
        case .share: isShareUndone ? .refuse(.decidedBySupport) : .share
        }
    }
}
