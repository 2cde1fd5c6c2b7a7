/// Somebody's device shows a purchase: whose it is now, and all else that decides what comes of it.
///
/// What a person has decided weighs most, then the account that the app named at the purchase, then
/// which device showed it first. A purchase that names somebody goes to nobody else, whether or not
/// anything is known of them yet. Otherwise it moves only by the app's own policy. What is used up
/// never moves once some of it was spent: it would be spent by one and had by another.
package struct Claim: Hashable, Sendable {
    /// Nil while it is nobody's.
    package var owner: Owner?
    /// Whom the purchase itself names: a customer, or an id by which nobody is known yet. Nil where
    /// it names nobody.
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
    /// Nothing was spent of what is used up, as far as the owner's wallets tell.
    package var isUnspent: Bool
    /// How many customers have a share in it.
    package var sharers: Int
    /// For how long what the device shows has been signed. Nil where it shows nothing of it.
    package var documentAge: Duration?

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
        isShareUndone: Bool = false, isInUse: Bool = false, isUsedUp: Bool = false,
        isUnspent: Bool = false, sharers: Int = 0, documentAge: Duration? = nil
    ) {
        self.owner = owner
        self.named = named
        self.claimant = claimant
        self.isShared = isShared
        self.isShareUndone = isShareUndone
        self.isInUse = isInUse
        self.isUsedUp = isUsedUp
        self.isUnspent = isUnspent
        self.sharers = sharers
        self.documentAge = documentAge
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

    /// To whom the policy ``Policy/share`` gives a share.
    package struct ShareRules: Hashable, Sendable {
        /// Customers who have a share in one purchase, beside its owner.
        package var most: Int

        package static let mostDefault = 5
        /// For how many days after it was signed a document gives a share: whoever holds an old
        /// copy of one has no device that could get a new one.
        package static let documentDaysMax = 30

        package init(most: Int = mostDefault) { self.most = most }

        func takes(documentOfAge age: Duration?) -> Bool {
            age.map { $0 <= .days(Self.documentDaysMax) } ?? false
        }
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
        /// It names another customer, or an id that is none of the claimant's.
        case namesAnother = "names_another"
        case inUse = "in_use"
        case blocked
        case decidedBySupport = "decided_by_support"
        /// What is used up stays where it was credited.
        case usedUp = "used_up"
        /// As many customers have a share in it as may.
        case sharedWithMost = "shared_with_most"
        /// What the device shows was signed too long ago to give a share.
        case documentTooOld = "document_too_old"
    }

    package func verdict(
        under policy: Policy, sharing rules: ShareRules = ShareRules()
    ) -> Verdict {
        let isNamed = named != nil && named == claimant
        guard let owner else {
            if named != nil && !isNamed { return .refuse(.namesAnother) }
            return .link(by: isNamed ? .token : .device)
        }
        if owner.customer == claimant { return .theirs }
        if isShared && policy == .share { return .theirs }
        if owner.isBlocked { return .refuse(.blocked) }
        if owner.evidence == .support { return .refuse(.decidedBySupport) }
        if named != nil && !isNamed { return .refuse(.namesAnother) }
        if isUsedUp && !(isNamed && isUnspent) { return .refuse(.usedUp) }
        if isNamed { return .move(by: .token) }
        return verdict(ofDevice: policy, rules)
    }

    private func verdict(ofDevice policy: Policy, _ rules: ShareRules) -> Verdict {
        switch policy {
        case .keep: .refuse(.kept)
        case .transfer: .move(by: .device)
        case .transferIfInactive: isInUse ? .refuse(.inUse) : .move(by: .device)
        case .share: verdict(ofSharing: rules)
        }
    }

    private func verdict(ofSharing rules: ShareRules) -> Verdict {
        if isShareUndone { return .refuse(.decidedBySupport) }
        if sharers >= rules.most { return .refuse(.sharedWithMost) }
        return rules.takes(documentOfAge: documentAge) ? .share : .refuse(.documentTooOld)
    }
}
