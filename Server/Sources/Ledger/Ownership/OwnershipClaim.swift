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
///
/// Anybody may have a copy of a document, but only a device of the store account gets a newer one.
/// So the newer document counts between a person and an anonymous customer, and a person who took
/// a purchase from one has it provisionally, until they show a document that was signed afterwards:
/// until then, whoever shows such a document first gets the purchase.
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
    /// How many other customers of the claimant's kind have a share in it: persons, or anonymous
    /// customers.
    package var sharers: Int
    /// Of their shares, the one that a newer document takes the place of.
    package var weakestShare: Share?
    /// How long ago the document that the device presents was signed. Nil if it presents none.
    package var documentAge: Duration?

    package struct Owner: Hashable, Sendable {
        package var customer: CustomerID
        package var evidence: Evidence
        /// Whether nobody else may claim it.
        package var isBlocked: Bool
        /// Whether all ids of the customer are anonymous.
        package var isAnonymous = false
        /// The age of the newest document that their devices have shown. Nil if it is unknown, or
        /// if the purchase is theirs whatever they show.
        package var documentAge: Duration?
        /// How long it has been theirs.
        package var heldFor: Duration = .zero
        /// Whether a device of theirs has shown a document that was signed after the purchase
        /// became theirs, and that nobody else had shown before; or they need to show none.
        package var isConfirmed = true

        package init(_ customer: CustomerID, by evidence: Evidence, isBlocked: Bool = false) {
            self.customer = customer
            self.evidence = evidence
            self.isBlocked = isBlocked
        }

        /// Whether somebody with a copy could have it as they do: a person who has it by a document
        /// that was signed before, and by nothing else.
        package var isProvisional: Bool { !isAnonymous && evidence == .device && !isConfirmed }

        /// The age below which a document was signed after the purchase became theirs, by the clock
        /// of the store and by ours.
        package var confirmingAge: Duration { min(heldFor, documentAge ?? heldFor) }
    }

    /// A share of another customer.
    package struct Share: Hashable, Sendable {
        package var customer: CustomerID
        /// The age of the newest document that their devices have shown.
        package var documentAge: Duration

        package init(_ customer: CustomerID, documentAge: Duration) {
            self.customer = customer
            self.documentAge = documentAge
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
        /// The same, and the share of another customer ends, because all places are taken.
        case shareInstead(of: CustomerID)
        case refuse(Refusal)

        /// Whether it changes whose the purchase is, or who shares it.
        package var isChange: Bool {
            switch self {
            case .link, .move, .share, .shareInstead: true
            case .alreadyTheirs, .refuse: false
            }
        }
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
        /// The presented document was signed too long ago, or before one that others have shown.
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
        let keepsShare = isShared && policy == .share
        // Whoever shares it may take it from somebody who only has it by a copy.
        if keepsShare && !(owner.isProvisional && intent != .sync) { return .alreadyTheirs }
        let verdict = verdict(against: owner, isNamed: isNamed, policy, rules)
        switch verdict {
        case .share, .shareInstead, .refuse:
            // Also somebody who has signed in since.
            return keepsShare || isShared && owner.isAnonymous ? .alreadyTheirs : verdict
        case .alreadyTheirs, .link, .move: return verdict
        }
    }

    private func verdict(
        against owner: Owner, isNamed: Bool, _ policy: RestorePolicy, _ rules: ShareRules
    ) -> Verdict {
        let areAnonymous = owner.isAnonymous && isClaimantAnonymous
        if isShared && areAnonymous { return .alreadyTheirs }
        if owner.isBlocked { return .refuse(.blocked) }
        if owner.evidence == .support { return .refuse(.decidedBySupport) }
        if named != nil && !isNamed { return .refuse(.namesAnother) }
        if isUsedUp && !(isNamed && isUnspent) { return .refuse(.usedUp) }
        if areAnonymous { return verdictBesideAnonymous(rules) }
        return asIntended(verdict(takingFrom: owner, isNamed: isNamed, policy, rules))
    }

    private func verdict(
        takingFrom owner: Owner, isNamed: Bool, _ policy: RestorePolicy, _ rules: ShareRules
    ) -> Verdict {
        if isNamed { return .move(by: .token) }
        let isRecent = rules.accepts(documentOfAge: documentAge)
        if owner.isProvisional, isRecent, isDocument(youngerThan: owner.confirmingAge) {
            // A device on which nobody has signed in takes nothing from a person by itself.
            let isAutomatic = intent == nil && isClaimantAnonymous
            return isAutomatic ? .refuse(.needsRestore) : .move(by: .device)
        }
        // Apps that do not say why they post are answered as before they could.
        let verdict =
            owner.isAnonymous && intent != nil
            ? .move(by: .device) : verdict(ofDevice: policy, rules)
        switch verdict {
        case .move where owner.isAnonymous || isClaimantAnonymous:
            // One that is as old is the same document, or was signed at the same moment.
            let isNewest = owner.documentAge.map { !isDocument(olderThan: $0) } ?? true
            return isRecent && isNewest ? verdict : .refuse(.documentTooOld)
        case .refuse(.kept) where owner.isProvisional,
            .refuse(.inUse) where owner.isProvisional:
            return .refuse(.documentTooOld)
        case .move, .share, .shareInstead, .alreadyTheirs, .link, .refuse: return verdict
        }
    }

    private func isDocument(youngerThan age: Duration) -> Bool {
        documentAge.map { $0 < age } ?? false
    }

    private func isDocument(olderThan age: Duration) -> Bool {
        documentAge.map { $0 > age } ?? true
    }

    /// What the app does by itself takes nothing from anybody.
    private func asIntended(_ verdict: Verdict) -> Verdict {
        guard intent == .sync else { return verdict }
        switch verdict {
        case .move, .share, .shareInstead: return .refuse(.needsRestore)
        case .alreadyTheirs, .link, .refuse: return verdict
        }
    }

    // MARK: - What is remembered of documents

    /// Whether the document is to be remembered, if the purchase becomes the claimant's by this
    /// verdict. If not, it is theirs whatever they show later: who bought it, as a person, or whom
    /// it names.
    ///
    /// - Parameter isDocumentNew: whether nobody has shown the document before. Somebody who links
    ///   a purchase by one that was shown, as after its owner was erased, may only have a copy.
    package func isDocumentRemembered(after verdict: Verdict, isDocumentNew: Bool) -> Bool {
        switch verdict {
        case .link: isClaimantAnonymous || !isDocumentNew
        case .move(let evidence):
            isClaimantAnonymous
                || evidence == .device
                    && (owner?.isAnonymous == true || owner?.isProvisional == true)
        case .share, .shareInstead: true
        case .alreadyTheirs, .refuse: false
        }
    }
}
