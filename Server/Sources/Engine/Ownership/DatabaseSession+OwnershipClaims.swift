import Ledger
import Storage

// Claims by devices that show a purchase: everything that decides, and what is written then.

extension DatabaseSession {
    /// Everything that determines the result of a claim by a device that shows a purchase.
    ///
    /// - Parameters:
    ///   - timeline: including what the device shows.
    ///   - signedAt: the signing time of the newest document that the device shows of it.
    func claim(
        _ timeline: Timeline, signedAt: Instant?, by id: CustomerID,
        intent: OwnershipClaim.Intent?, in app: AppSettings, at now: Instant
    ) throws -> OwnershipClaim {
        let purchase = timeline.purchase
        let stored = try customer(known: id, in: app.id)
        let known = stored?.customer
        let link = try link(of: purchase, in: app.id)
        var owner = link.map { OwnershipClaim.Owner($0.customer, by: $0.evidence) }
        if owner == nil, let spender = try formerSpender(of: timeline, in: app.id) {
            // The owner that it will be linked to when the documents are recorded.
            owner = OwnershipClaim.Owner(spender, by: .token)
        }
        if let link, owner != nil {
            owner?.heldFor = now - link.since
            owner?.documentAge = link.document.map { now - $0.signedAt }
            owner?.isConfirmed = link.document?.isConfirming ?? true
        }
        // Most requests repeat a customer's own purchases: then nothing else is read.
        let isAnonymous = stored?.isAnonymous ?? id.isAnonymous
        let documentAge = signedAt.map { now - $0 }
        if let owner, owner.customer == known {
            var claim = OwnershipClaim(
                owner: owner, named: nil, claimant: known, documentAge: documentAge)
            claim.owner?.isAnonymous = isAnonymous
            claim.isClaimantAnonymous = isAnonymous
            return claim
        }
        var named = try identified(by: timeline.accountToken, or: [id], in: app.id)
        let claimant = known ?? (named == id ? id : nil)
        if let other = named, other != claimant, try self.isAnonymous(other, in: app.id) {
            // The token says which device bought it, and names no person.
            owner = owner ?? OwnershipClaim.Owner(other, by: .token)
            named = nil
        }
        var claim = OwnershipClaim(owner: owner, named: named, claimant: claimant)
        claim.isClaimantAnonymous = isAnonymous
        claim.intent = intent
        claim.documentAge = documentAge
        guard let owner else { return claim }
        claim.owner?.isAnonymous = try self.isAnonymous(owner.customer, in: app.id)
        claim.owner?.isBlocked = try block(of: purchase, in: app.id) != nil
        claim.isUsedUp = timeline.hasConsumables
        if claim.isUsedUp, named != nil, named == claimant {
            claim.isUnspent = try isUnspent(timeline, of: owner.customer, in: app)
        }
        try addShares(to: &claim, of: purchase, in: app, at: now)
        claim.isInUse = try isInUse(timeline, of: owner.customer, in: app, at: now)
        return claim
    }

    /// Whether a customer is known by anonymous ids only. Returns false for an erased customer.
    func isAnonymous(_ customer: CustomerID, in app: AppID) throws -> Bool {
        try self.customer(known: customer, in: app)?.isAnonymous ?? false
    }

    private func addShares(
        to claim: inout OwnershipClaim, of purchase: PurchaseID, in app: AppSettings,
        at now: Instant
    ) throws {
        let isOwnerAnonymous = claim.owner?.isAnonymous == true
        guard isOwnerAnonymous || app.restorePolicy(in: purchase.environment) == .share else {
            return
        }
        let all = try shares(of: purchase, in: app.id)
        let counted =
            isOwnerAnonymous ? all : all.counted(by: app.shareRules(in: purchase.environment))
        // Whoever has signed in on a device that shares it keeps that device's place.
        let isAnyKind = isOwnerAnonymous && claim.isClaimantAnonymous
        func compete(_ share: Share) -> Bool {
            share.customer != claim.claimant
                && (isAnyKind || share.isAnonymous == claim.isClaimantAnonymous)
        }
        claim.sharers = all.count(where: compete)
        claim.weakestShare = counted.first(where: compete).map {
            OwnershipClaim.Share($0.customer, documentAge: now - $0.document.signedAt)
        }
        guard let claimant = claim.claimant else { return }
        claim.isShared = counted.contains { $0.customer == claimant }
        claim.isShareUndone = try transfers(of: claimant, in: app.id).contains {
            $0.purchase == purchase && $0.kind == .shared && $0.customer == claimant
                && $0.undoneAt != nil
        }
    }

    private func isInUse(
        _ timeline: Timeline, of owner: CustomerID, in app: AppSettings, at now: Instant
    ) throws -> Bool {
        if let access = timeline.access(at: now, rules: app.rules) { return access.isOpen }
        // The length of a term depends on all terms of its owner. Nothing else does, and an owner
        // may have thousands of purchases.
        guard !app.terms.terms(of: [timeline]).isEmpty else { return false }
        let purchase = timeline.purchase
        let timelines = try timelines(of: owner, in: app.id, environment: purchase.environment)
        return app.terms.terms(of: timelines).contains {
            $0.purchase == purchase && now < $0.until
        }
    }

    /// Applies the verdict on a claim. If it is to refuse, nothing is written, and an unknown id is
    /// not created.
    ///
    /// - Parameters:
    ///   - isDocumentNew: whether nobody has shown the document of the claim before.
    ///   - walletCache: passed on from one purchase of a request to the next.
    func resolve(
        _ claim: OwnershipClaim, on purchase: PurchaseID, for id: CustomerID, isDocumentNew: Bool,
        in app: AppSettings, at now: Instant, _ walletCache: inout WalletProjectionCache
    ) throws -> OwnershipResult {
        let verdict = app.verdict(on: claim, about: purchase)
        let signedAt = claim.documentAge.map { now - $0 }
        let document =
            claim.isDocumentRemembered(after: verdict, isDocumentNew: isDocumentNew)
            ? signedAt.map { PresentedDocument(signedAt: $0) } : nil
        switch verdict {
        case .refuse: break
        case .alreadyTheirs:
            if let signedAt {
                try remember(
                    signedAt, isNew: isDocumentNew, of: claim, to: purchase, in: app.id)
            }
        case .link(let evidence):
            let owner = try customer(id, in: app.id, at: now).customer
            try link(
                purchase, to: owner, by: evidence, document: document, in: app.id, at: now,
                &walletCache)
        case .move(let evidence):
            let owner = try customer(id, in: app.id, at: now).customer
            walletCache = WalletProjectionCache()
            _ = try move(
                purchase, to: owner, by: evidence, document: document, in: app.id, at: now)
        case .share:
            try share(purchase, of: claim, with: id, document, in: app.id, at: now)
        case .shareInstead(let other):
            try makeRoom(in: purchase, of: claim, byEnding: other, in: app, at: now)
            try share(purchase, of: claim, with: id, document, in: app.id, at: now)
        }
        return try ownershipResult(of: purchase, after: claim, verdict, in: app.id)
    }
    /// Ends a share, so that another one takes its place. Also ends those that do not count any
    /// more: otherwise one of these would take it.
    private func makeRoom(
        in purchase: PurchaseID, of claim: OwnershipClaim, byEnding other: CustomerID,
        in app: AppSettings, at now: Instant
    ) throws {
        var ended = [other]
        if claim.owner?.isAnonymous == false {
            let all = try shares(of: purchase, in: app.id)
            let counted = Set(
                all.counted(by: app.shareRules(in: purchase.environment)).map(\.customer))
            ended += all.filter {
                $0.isAnonymous == claim.isClaimantAnonymous && !counted.contains($0.customer)
            }.map(\.customer)
        }
        for customer in ended {
            try revokeShare(
                of: purchase, with: customer, from: claim.owner?.customer, in: app.id, at: now)
        }
    }

    private func share(
        _ purchase: PurchaseID, of claim: OwnershipClaim, with id: CustomerID,
        _ document: PresentedDocument?, in app: AppID, at now: Instant
    ) throws {
        if let owner = claim.owner, try link(of: purchase, in: app) == nil {
            // An anonymous customer has it only by its account token, until now.
            try link(purchase, to: owner.customer, by: owner.evidence, in: app, at: now)
        }
        let sharer = try customer(id, in: app, at: now).customer
        try share(purchase, with: sharer, document: document, in: app, at: now)
    }

    /// Remembers the document that a device shows of a purchase which its customer owns or shares
    /// already, where the document counts.
    private func remember(
        _ signedAt: Instant, isNew: Bool, of claim: OwnershipClaim, to purchase: PurchaseID,
        in app: AppID
    ) throws {
        guard let owner = claim.owner, let claimant = claim.claimant else { return }
        guard owner.customer == claimant else {
            return try remember(
                documentSignedAt: signedAt, isNew: isNew, of: purchase, sharedWith: claimant,
                in: app)
        }
        // The purchase of a person who needs to show nothing is theirs whatever they show.
        guard owner.isAnonymous || owner.isProvisional, let link = try link(of: purchase, in: app)
        else { return }
        try remember(
            documentSignedAt: signedAt, isNew: isNew, of: purchase, ownedBy: link, in: app)
    }

    /// Whether a customer's share in a person's purchase is among those that the policy allows.
    func isShareCounted(
        of purchase: PurchaseID, with customer: CustomerID, in app: AppSettings
    ) throws -> Bool {
        try shares(of: purchase, in: app.id)
            .counted(by: app.shareRules(in: purchase.environment))
            .contains { $0.customer == customer }
    }
}

extension [Share] {
    /// The shares in a person's purchase that count, in the same order: those of as many persons as
    /// the rules allow, and of as many anonymous customers, the oldest ones. There may be more
    /// shares, from the time when the purchase was an anonymous customer's.
    fileprivate func counted(by rules: OwnershipClaim.ShareRules) -> [Share] {
        var counted: Set<CustomerID> = []
        for isAnonymous in [true, false] {
            let oldest = filter { $0.isAnonymous == isAnonymous }
                .sorted { ($0.since, $0.customer) < ($1.since, $1.customer) }
            counted.formUnion(oldest.prefix(rules.most).map(\.customer))
        }
        return filter { counted.contains($0.customer) }
    }
}
