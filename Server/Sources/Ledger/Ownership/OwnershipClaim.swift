/// A claim to a purchase that a device presents: whose it is now, and everything else that decides
/// the result.
///
/// A decision by support weighs most, then the account that the app named at the purchase, then
/// which device presented it first. A purchase that names a customer goes to nobody else, even if
/// that customer is not known yet. Otherwise it moves only if the app's restore policy allows it.
/// Consumables never move once part of them was spent: one customer would spend what another has
/// bought.
///
/// An anonymous customer is a device whose user has not signed in, not a person. Two of them that
/// show one purchase are devices of one store account, so both have it. A person who restores it
/// gets it.
package struct OwnershipClaim: Hashable, Sendable {
    /// Nil while it belongs to nobody.
    package var owner: Owner?
    /// The customer whom the purchase itself names, or a token that is no known customer's id. Nil
    /// if it names nobody.
    package var named: CustomerID?
    /// Nil if the id is unknown and is not the one that the purchase names.
    package var claimant: CustomerID?
    /// Whether all ids of the claimant are anonymous.
    package var isClaimantAnonymous = false
    /// Why the device presents it. Nil if the app does not say.
    package var intent: Intent?
    /// Whether the claimant already has a share in it.
    package var isShared: Bool
    /// Whether support has removed a share of the claimant's in it.
    package var isShareUndone: Bool
    /// Whether it gives its owner access now.
    package var isInUse: Bool
    /// Whether it contains a consumable.
    package var isUsedUp: Bool
    /// Whether none of its consumables was spent, according to the owner's wallets.
    package var isUnspent: Bool
    /// How many customers have a share in it.
    package var sharers: Int
    /// How long ago the document that the device presents was signed. Nil if it presents none.
    package var documentAge: Duration?

    package struct Owner: Hashable, Sendable {
        package var customer: CustomerID
        package var evidence: Evidence
        /// Whether nobody else may claim it.
        package var isBlocked: Bool
        /// Whether all ids of the customer are anonymous.
        package var isAnonymous = false

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

    /// Why a purchase belongs to a customer.
    package enum Evidence: String, Hashable, Sendable, CaseIterable {
        /// One of their devices posted it.
        case device
        /// It carries an account token that is one of their ids.
        case token
        /// Support decided it.
        case support
    }

    /// Why a device presents purchases.
    package enum Intent: String, Hashable, Sendable, CaseIterable {
        /// The customer has just bought.
        case purchase
        /// The customer asked for it.
        case restore
        /// The app found them by itself, for example at its start. Takes nothing from anybody.
        case sync
    }

    package enum Verdict: Hashable, Sendable {
        /// It is already the claimant's, or they already have a share.
        case alreadyTheirs
        /// It belonged to nobody, and becomes the claimant's.
        case link(by: Evidence)
        /// It becomes the claimant's, and is taken from the owner.
        case move(by: Evidence)
        case share
        case refuse(Refusal)
    }

    package enum Refusal: String, Hashable, Sendable, CaseIterable {
        /// The policy leaves it with its owner.
        case kept
        /// It names another customer, or an id that is not one of the claimant's.
        case namesAnother = "names_another"
        case inUse = "in_use"
        case blocked
        case decidedBySupport = "decided_by_support"
        /// Consumables stay where they were credited.
        case usedUp = "used_up"
        /// The maximum number of customers already has a share in it.
        case sharedWithMost = "shared_with_most"
        /// The presented document was signed too long ago to give a share.
        case documentTooOld = "document_too_old"
        /// The app has found the purchase by itself. It may move if the customer restores it.
        case needsRestore = "needs_restore"
    }

    package func verdict(
        under policy: RestorePolicy, sharing rules: ShareRules = ShareRules()
    ) -> Verdict {
        let isNamed = named != nil && named == claimant
        guard let owner else {
            if named != nil && !isNamed { return .refuse(.namesAnother) }
            return .link(by: isNamed ? .token : .device)
        }
        if owner.customer == claimant { return .alreadyTheirs }
        if isShared && policy == .share { return .alreadyTheirs }
        let verdict = verdict(against: owner, isNamed: isNamed, policy, rules)
        // Also somebody who has signed in since.
        if isShared, owner.isAnonymous, case .refuse = verdict { return .alreadyTheirs }
        return verdict
    }

    private func verdict(
        against owner: Owner, isNamed: Bool, _ policy: RestorePolicy, _ rules: ShareRules
    ) -> Verdict {
        let isAnonymous = owner.isAnonymous && isClaimantAnonymous
        if isShared && isAnonymous { return .alreadyTheirs }
        if owner.isBlocked { return .refuse(.blocked) }
        if owner.evidence == .support { return .refuse(.decidedBySupport) }
        if named != nil && !isNamed { return .refuse(.namesAnother) }
        if isUsedUp && !(isNamed && isUnspent) { return .refuse(.usedUp) }
        if isAnonymous { return verdictBesideAnonymous }
        return asIntended(verdict(takingFrom: owner, isNamed: isNamed, policy, rules))
    }

    private func verdict(
        takingFrom owner: Owner, isNamed: Bool, _ policy: RestorePolicy, _ rules: ShareRules
    ) -> Verdict {
        if isNamed { return .move(by: .token) }
        // Apps that do not say why they post are answered as before they could.
        guard owner.isAnonymous, intent != nil else { return verdict(ofDevice: policy, rules) }
        return rules.accepts(documentOfAge: documentAge)
            ? .move(by: .device) : .refuse(.documentTooOld)
    }

    /// What the app does by itself takes nothing from anybody.
    private func asIntended(_ verdict: Verdict) -> Verdict {
        guard intent == .sync else { return verdict }
        switch verdict {
        case .move, .share: return .refuse(.needsRestore)
        case .alreadyTheirs, .link, .refuse: return verdict
        }
    }
}
