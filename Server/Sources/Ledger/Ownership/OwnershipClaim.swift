/// A device's claim to a purchase: the present owner, and everything else that decides the result.
///
/// The strongest evidence is a decision by support, then the account that the app named at the
/// purchase, then the first device that presented the purchase. A purchase that names a customer
/// goes to no other customer, even if that customer is not known yet. Any other purchase moves only
/// if the app's restore policy allows it. Consumables never move once part of them was spent,
/// because otherwise two customers could spend them.
///
/// An anonymous customer is a device whose user has not signed in, not a person. If two anonymous
/// customers present one purchase, they are devices of one store account, so both customers have
/// the purchase. A person who restores the purchase becomes its owner.
///
/// Anyone may have a copy of a document, but only a device of the store account gets a newer
/// document. So the newer document wins between a person and an anonymous customer. A person who
/// took a purchase with a document has the purchase provisionally, until the person presents a
/// document that was signed afterwards. Until then, the first customer who presents such a document
/// gets the purchase.
package struct OwnershipClaim: Hashable, Sendable {
    /// The owner. Nil if there is none.
    package var owner: Owner?
    /// The customer whom the purchase's account token names. If the token is not the id of a known
    /// customer, the token itself. Nil if the purchase names no customer.
    package var named: CustomerID?
    /// The customer who claims the purchase. Nil if the posted id is unknown and is not the id that
    /// the purchase names.
    package var claimant: CustomerID?
    /// Whether all ids of the claimant are anonymous.
    package var isClaimantAnonymous = false
    /// Why the device presents the purchase. Nil if the app does not name the intent.
    package var intent: Intent?
    /// Whether the claimant already has a share in the purchase.
    package var isShared: Bool
    /// Whether support has removed the claimant's share in the purchase.
    package var isShareUndone: Bool
    /// Whether the purchase gives its owner access now.
    package var isInUse: Bool
    /// Whether the purchase contains a consumable.
    package var isUsedUp: Bool
    /// Whether none of the purchase's consumables was spent, according to the owner's wallets.
    package var isUnspent: Bool
    /// How many other customers of the claimant's kind (persons, or anonymous customers) have a
    /// share in the purchase.
    package var sharers: Int
    /// The share that ends first if all shares are taken: the share with the oldest document among
    /// the shares of the ``sharers``. Nil if there is no such share.
    package var weakestShare: Share?
    /// How long ago the document that the device presents was signed. Nil if it presents none.
    package var documentAge: Duration?

    package struct Owner: Hashable, Sendable {
        package var customer: CustomerID
        package var evidence: Evidence
        /// Whether support has blocked claims by other customers.
        package var isBlocked: Bool
        /// Whether all ids of the customer are anonymous.
        package var isAnonymous = false
        /// The age of the newest document that the owner's devices have presented. Nil if it is
        /// unknown, or if the purchase belongs to the owner independently of documents.
        package var documentAge: Duration?
        /// How long the owner has had the purchase.
        package var heldFor: Duration = .zero
        /// Whether a device of the owner has presented a confirming document: a document that was
        /// signed after the owner got the purchase, and that no other customer had presented
        /// before. Also true if the owner needs no such document.
        package var isConfirmed = true

        package init(_ customer: CustomerID, by evidence: Evidence, isBlocked: Bool = false) {
            self.customer = customer
            self.evidence = evidence
            self.isBlocked = isBlocked
        }

        /// Whether somebody with only a copy of a document could have got the purchase in the same
        /// way as the owner. This is true if the owner is a person whose only evidence is a
        /// document that was signed before the owner got the purchase.
        package var isProvisional: Bool { !isAnonymous && evidence == .device && !isConfirmed }

        /// If a document is younger than this age, it was signed after the owner got the purchase,
        /// both by the store's clock and by this server's clock.
        package var confirmingAge: Duration { min(heldFor, documentAge ?? heldFor) }
    }

    /// A share of another customer.
    package struct Share: Hashable, Sendable {
        package var customer: CustomerID
        /// The age of the newest document that the customer's devices have presented.
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
        /// One of the customer's devices posted the purchase.
        case device
        /// The purchase contains an account token that is one of the customer's ids.
        case token
        /// Support decided that the purchase belongs to the customer.
        case support
    }

    /// Why a device presents a purchase.
    package enum Intent: String, Hashable, Sendable, CaseIterable {
        /// The customer has just bought.
        case purchase
        /// The customer asked for a restore.
        case restore
        /// The app found the purchases by itself, for example at launch. Such a post takes nothing
        /// from another customer.
        case sync
    }

    package enum Verdict: Hashable, Sendable {
        /// The purchase already belongs to the claimant, or is already shared with them.
        case alreadyTheirs
        /// The purchase had no owner. The claimant becomes its owner.
        case link(by: Evidence)
        /// The claimant becomes the owner, and the present owner loses the purchase.
        case move(by: Evidence)
        case share
        /// The purchase is shared with the claimant, and the share of another customer ends,
        /// because all shares are taken.
        case shareInstead(of: CustomerID)
        case refuse(Refusal)

        /// Whether the verdict changes the owner of the purchase, or who shares it.
        package var isChange: Bool {
            switch self {
            case .link, .move, .share, .shareInstead: true
            case .alreadyTheirs, .refuse: false
            }
        }
    }

    package enum Refusal: String, Hashable, Sendable, CaseIterable {
        /// The policy leaves the purchase with its owner.
        case kept
        /// The purchase names another customer, or an id that is not one of the claimant's.
        case namesAnother = "names_another"
        case inUse = "in_use"
        case blocked
        case decidedBySupport = "decided_by_support"
        /// Consumables stay with the customer to whom they were credited.
        case usedUp = "used_up"
        /// The maximum number of customers already share the purchase.
        case sharedWithMost = "shared_with_most"
        /// The presented document was signed too long ago, or before a document that others have
        /// presented.
        case documentTooOld = "document_too_old"
        /// The app has found the purchase by itself. The purchase may move if the customer restores
        /// it.
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
        // Possibly the owner has only a copy of the purchase's document. Then a customer who shares
        // the purchase can take it over.
        if keepsShare && !(owner.isProvisional && intent != .sync) { return .alreadyTheirs }
        let verdict = verdict(against: owner, isNamed: isNamed, policy, rules)
        switch verdict {
        case .share, .shareInstead, .refuse:
            // If a customer has a share in an anonymous customer's purchase, and has signed in
            // since then, the customer keeps the share.
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
            // A device without a signed-in user takes nothing from a person by itself, unless the
            // policy gives the purchase to the customer who posted it last.
            let isAutomatic = intent == nil && isClaimantAnonymous && policy != .transfer
            return isAutomatic ? .refuse(.needsRestore) : .move(by: .device)
        }
        // For apps that do not say why they post, the result is the same as before intents were
        // introduced.
        let verdict =
            owner.isAnonymous && intent != nil
            ? .move(by: .device) : verdict(ofDevice: policy, rules)
        switch verdict {
        case .move where owner.isAnonymous || isClaimantAnonymous:
            // A document of the same age is the same document, or was signed at the same moment.
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

    /// The verdict after considering the intent: an automatic post takes nothing from another
    /// customer.
    private func asIntended(_ verdict: Verdict) -> Verdict {
        guard intent == .sync else { return verdict }
        switch verdict {
        case .move, .share, .shareInstead: return .refuse(.needsRestore)
        case .alreadyTheirs, .link, .refuse: return verdict
        }
    }

    // MARK: - Which documents are remembered

    /// Whether the document must be remembered if the purchase becomes the claimant's by this
    /// verdict. If false, the purchase belongs to the claimant independently of later documents.
    /// There are two possible reasons: the claimant bought it as a person, or the purchase names
    /// the claimant.
    ///
    /// - Parameter isDocumentNew: whether no customer has presented the document before. A customer
    ///   who links a purchase with a document that was presented before, for example after its
    ///   owner was erased, may have only a copy.
    package func isDocumentRemembered(after verdict: Verdict, isDocumentNew: Bool) -> Bool {
        switch verdict {
        case .link: isClaimantAnonymous || !isDocumentNew
        // The document is also remembered if the policy moves the purchase from one person to
        // another: the document may be a copy, and a later document of the buyer may show that the
        // purchase is in use again.
        case .move(let evidence): isClaimantAnonymous || evidence == .device
        case .share, .shareInstead: true
        case .alreadyTheirs, .refuse: false
        }
    }
}
