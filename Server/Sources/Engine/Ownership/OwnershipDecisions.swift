import Foundation
import Ledger
import Storage

/// Decides who owns a purchase when a customer claims it.
struct OwnershipDecisions {
    let tx: DatabaseSession

    init(_ tx: DatabaseSession) { self.tx = tx }

    /// All values that determine the result of a claim, which a device makes when it presents a
    /// purchase.
    ///
    /// - Parameters:
    ///   - timeline: the purchase's timeline, including the documents that the device presents.
    ///   - signedAt: when the newest document of the purchase that the device presents was signed.
    func claim(
        _ timeline: Timeline, signedAt: Instant?, by id: CustomerID,
        intent: OwnershipClaim.Intent?, in app: AppSettings, at now: Instant
    ) throws -> OwnershipClaim {
        let purchase = timeline.purchase
        let stored = try tx.customers.find(known: id, in: app.id)
        let known = stored?.customer
        let link = try tx.links.find(of: purchase, in: app.id)
        var owner = link.map { OwnershipClaim.Owner($0.customer, by: $0.evidence) }
        if owner == nil, let spender = try WalletUpdates(tx).formerSpender(of: timeline, in: app.id)
        {
            // The purchase will be linked to this owner when the documents are recorded.
            owner = OwnershipClaim.Owner(spender, by: .token)
        }
        if let link, owner != nil {
            owner?.heldFor = now - link.since
            owner?.documentAge = link.document.map { now - $0.signedAt }
            owner?.isConfirmed = link.document?.isConfirming ?? true
        }
        // Most requests repeat a customer's own purchases. For such purchases, nothing else is
        // read.
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
            // The token identifies the device that bought the purchase, not a person.
            owner = owner ?? OwnershipClaim.Owner(other, by: .token)
            named = nil
        }
        var claim = OwnershipClaim(owner: owner, named: named, claimant: claimant)
        claim.isClaimantAnonymous = isAnonymous
        claim.intent = intent
        claim.documentAge = documentAge
        guard let owner else { return claim }
        claim.owner?.isAnonymous = try self.isAnonymous(owner.customer, in: app.id)
        claim.owner?.isBlocked = try tx.links.block(of: purchase, in: app.id) != nil
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
        try tx.customers.find(known: customer, in: app)?.isAnonymous ?? false
    }

    private func addShares(
        to claim: inout OwnershipClaim, of purchase: PurchaseID, in app: AppSettings,
        at now: Instant
    ) throws {
        let isOwnerAnonymous = claim.owner?.isAnonymous == true
        guard isOwnerAnonymous || app.restorePolicy(in: purchase.environment) == .share else {
            return
        }
        let all = try tx.shares.all(of: purchase, in: app.id)
        let counted =
            isOwnerAnonymous ? all : all.counted(by: app.shareRules(in: purchase.environment))
        // If a customer signs in on a device that shares the purchase, the customer takes over the
        // share of that device.
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
        claim.isShareUndone = try tx.transfers.all(of: claimant, in: app.id).contains {
            $0.purchase == purchase && $0.kind == .shared && $0.customer == claimant
                && $0.undoneAt != nil
        }
    }

    private func isInUse(
        _ timeline: Timeline, of owner: CustomerID, in app: AppSettings, at now: Instant
    ) throws -> Bool {
        if let access = timeline.access(at: now, rules: app.rules) { return access.isOpen }
        // The end of a term depends on all terms of its owner, so a purchase with a term needs the
        // owner's other purchases. An owner may have thousands of purchases, so they are not read
        // for a purchase without a term.
        guard !app.terms.terms(of: [timeline]).isEmpty else { return false }
        let purchase = timeline.purchase
        let timelines = try tx.links.timelines(
            of: owner, in: app.id, environment: purchase.environment)
        return app.terms.terms(of: timelines).contains {
            $0.purchase == purchase && now < $0.until
        }
    }

    /// Applies the verdict on a claim. If the verdict is to refuse, nothing is written, and an
    /// unknown id is not created.
    ///
    /// - Parameters:
    ///   - isDocumentNew: whether no device has presented the document of the claim before.
    ///   - walletCache: the cached wallets, passed on from one purchase of a request to the next.
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
            let owner = try IdentityUpdates(tx).customer(id, in: app.id, at: now).customer
            try OwnershipUpdates(tx).link(
                purchase, to: owner, by: evidence, document: document, in: app.id, at: now,
                &walletCache)
        case .move(let evidence):
            let owner = try IdentityUpdates(tx).customer(id, in: app.id, at: now).customer
            walletCache = WalletProjectionCache()
            _ = try OwnershipUpdates(tx).move(
                purchase, to: owner, by: evidence, document: document, in: app.id, at: now)
        case .share:
            try share(purchase, of: claim, with: id, document, in: app.id, at: now)
        case .shareInstead(let other):
            try makeRoom(in: purchase, of: claim, byEnding: other, in: app, at: now)
            try share(purchase, of: claim, with: id, document, in: app.id, at: now)
        }
        return try ownershipResult(of: purchase, after: claim, verdict, in: app.id)
    }

    /// Ends a share, so that another share takes its place. Also ends the shares that are no longer
    /// in force. Otherwise one of these shares would take the freed place.
    private func makeRoom(
        in purchase: PurchaseID, of claim: OwnershipClaim, byEnding other: CustomerID,
        in app: AppSettings, at now: Instant
    ) throws {
        var ended = [other]
        if claim.owner?.isAnonymous == false {
            let all = try tx.shares.all(of: purchase, in: app.id)
            let counted = Set(
                all.counted(by: app.shareRules(in: purchase.environment)).map(\.customer))
            ended += all.filter {
                $0.isAnonymous == claim.isClaimantAnonymous && !counted.contains($0.customer)
            }.map(\.customer)
        }
        for customer in ended {
            try OwnershipUpdates(tx).revokeShare(
                of: purchase, with: customer, from: claim.owner?.customer, in: app.id, at: now)
        }
    }

    private func share(
        _ purchase: PurchaseID, of claim: OwnershipClaim, with id: CustomerID,
        _ document: PresentedDocument?, in app: AppID, at now: Instant
    ) throws {
        if let owner = claim.owner, try tx.links.find(of: purchase, in: app) == nil {
            // Until now, an anonymous customer has the purchase only because of the purchase's
            // account token.
            try OwnershipUpdates(tx).link(
                purchase, to: owner.customer, by: owner.evidence, in: app, at: now)
        }
        let sharer = try IdentityUpdates(tx).customer(id, in: app, at: now).customer
        try OwnershipUpdates(tx).share(purchase, with: sharer, document: document, in: app, at: now)
    }

    /// Records the document that a device presents with a purchase that the customer already owns
    /// or shares. The document is evidence that the customer uses the store account.
    private func remember(
        _ signedAt: Instant, isNew: Bool, of claim: OwnershipClaim, to purchase: PurchaseID,
        in app: AppID
    ) throws {
        guard let owner = claim.owner, let claimant = claim.claimant else { return }
        guard owner.customer == claimant else {
            return try tx.shares.remember(
                documentSignedAt: signedAt, isNew: isNew, of: purchase, sharedWith: claimant,
                in: app)
        }
        // If the owner is a person whose ownership is not provisional, the documents of devices do
        // not matter.
        guard owner.isAnonymous || owner.isProvisional,
            let link = try tx.links.find(of: purchase, in: app)
        else { return }
        try tx.links.remember(
            documentSignedAt: signedAt, isNew: isNew, of: purchase, ownedBy: link, in: app)
    }

    /// Whether a customer's share in a person's purchase is among the shares that the policy
    /// allows.
    func isShareCounted(
        of purchase: PurchaseID, with customer: CustomerID, in app: AppSettings
    ) throws -> Bool {
        try tx.shares.all(of: purchase, in: app.id)
            .counted(by: app.shareRules(in: purchase.environment))
            .contains { $0.customer == customer }
    }

    /// The id that a customer can set as account token. Returns nil if the customer has no such id
    /// yet.
    func accountToken(
        of id: CustomerID, in app: AppID
    ) throws -> CustomerID? {
        guard let known = try tx.customers.find(known: id, in: app) else {
            return id.asAccountToken
        }
        return known.accountToken
    }

    /// Returns the customer that a purchase's account token identifies: a known customer, or an
    /// unknown id. If the id is unknown, returns the given id that is the same UUID. If there is no
    /// such id, returns the token in lower case. Returns nil if the token was an id of an erased
    /// customer, or if the app's tokens are not customer ids.
    func identified(
        by token: String?, or ids: [CustomerID], in app: AppID
    ) throws(StorageFailure) -> CustomerID? {
        guard let token, tx.accountTokens.identifyCustomers(in: app),
            try !tx.erasedIDs.contains(token: token, in: app)
        else {
            return nil
        }
        if let named = try tx.accountTokens.customer(named: token, in: app) { return named }
        guard let stranger = CustomerID(accountToken: token) else { return nil }
        return ids.first { $0.accountToken == stranger.rawValue } ?? stranger
    }

    /// Whether all credits of a purchase in its owner's wallets are unspent. Returns false if some
    /// credits were given to no wallet. Then the app itself delivers them, and it is unknown how
    /// many are left. Also returns false if any credits were refunded, because a refund in force
    /// can hide that credits were spent.
    ///
    /// - Parameter owner: a customer, an unknown id, or the pseudonym of an erased customer.
    func isUnspent(
        _ timeline: Timeline, of owner: CustomerID, in app: AppSettings
    ) throws -> Bool {
        let environment = timeline.purchase.environment
        let bought = timeline.periods.map(\.payment).filter { $0.kind == .consumable }
        guard bought.allSatisfy({ $0.revocation == nil }) else { return false }
        let ids = try tx.customers.find(known: owner, in: app.id)?.ids ?? [owner]
        // Reads the links directly, because an erased customer has no ids.
        let timelines =
            try tx.links.timelines(of: owner, in: app.id, environment: environment)
            + tx.accountTokens.timelines(ids, in: app.id, environment: environment)
        let payments = timelines.flatMap { $0.periods.map(\.payment) }
        var inWallets: Set<TransactionID> = []
        for currency in app.wallets.allCurrencies.sorted() {
            let credited = bought.filter { Wallet.credits($0, currency, rules: app.wallets) }
            guard !credited.isEmpty else { continue }
            let wallet = try WalletDecisions(tx).wallet(
                currency, of: owner, payments, in: app, environment: environment)
            for payment in credited {
                guard wallet.spent(of: payment.transaction)?.amount == 0 else { return false }
                inWallets.insert(payment.transaction)
            }
        }
        return bought.allSatisfy { inWallets.contains($0.transaction) }
    }

    /// Whether a purchase stays with an erased customer, because no remaining customer could owe
    /// the spent credits. Returns false if the purchase names the claiming customer, and none of
    /// its credits were spent.
    func isConsumedByErased(
        _ timeline: Timeline, for id: CustomerID, in app: AppSettings
    ) throws -> Bool {
        guard let owner = try tx.links.find(of: timeline.purchase, in: app.id)?.customer,
            try tx.erasedIDs.isPseudonym(owner, in: app.id)
        else { return false }
        let known = try tx.customers.find(known: id, in: app.id)
        let named = try identified(by: timeline.accountToken, or: known?.ids ?? [id], in: app.id)
        guard let named, named == known?.customer ?? id else { return true }
        return try !isUnspent(timeline, of: owner, in: app)
    }

    /// Whether a transfer is still in effect: nothing has happened to the purchase since, and the
    /// transfer was not undone.
    func isCurrent(_ transfer: StoredTransfer, in app: AppID) throws -> Bool {
        switch transfer.kind {
        case .moved:
            try tx.links.find(of: transfer.purchase, in: app)?.customer == transfer.customer
                && !transfer.stays
                && !tx.transfers.all(of: transfer.customer, in: app).contains {
                    $0.purchase == transfer.purchase && $0.kind == .moved
                        && $0.number > transfer.number && $0.undoneAt == nil && !$0.stays
                }
        case .shared:
            try tx.shares.exists(in: transfer.purchase, transfer.customer, in: app)
        }
    }

    /// The customer to whom a purchase belongs. If the purchase has no owner but names the given
    /// unknown id, that id becomes a customer.
    func beneficiary(
        of purchase: PurchaseID, or id: CustomerID, in app: AppID, at now: Instant
    ) throws -> CustomerID? {
        if let holder = try OwnershipUpdates(tx).beneficiary(of: purchase, in: app) {
            return holder
        }
        let token = try tx.purchases.timeline(of: purchase, in: app)?.accountToken
        guard try identified(by: token, or: [id], in: app) == id else { return nil }
        return try IdentityUpdates(tx).customer(id, in: app, at: now).customer
    }

    /// The result of a claim whose verdict has been applied.
    func ownershipResult(
        of purchase: PurchaseID, after claim: OwnershipClaim, _ verdict: OwnershipClaim.Verdict,
        in app: AppID
    ) throws -> OwnershipResult {
        let claimant = CustomerKind(isAnonymous: claim.isClaimantAnonymous)
        var owner = claim.owner.map { CustomerKind(isAnonymous: $0.isAnonymous) }
        let kind: OwnershipResult.Kind
        switch verdict {
        case .alreadyTheirs where claim.owner?.customer == claim.claimant: kind = .theirs
        case .alreadyTheirs, .share, .shareInstead: kind = .shared
        case .link: (kind, owner) = (.linked, claimant)
        case .move: (kind, owner) = (.moved, claimant)
        case .refuse(let why):
            // A purchase without an owner belongs to the customer whom its token identifies, if
            // that customer is known.
            let named = try claim.named.flatMap { try tx.customers.find(known: $0, in: app) }
            owner = owner ?? named.map { CustomerKind(isAnonymous: $0.isAnonymous) }
            kind = owner == nil ? .refused(why) : .another(why)
        }
        return OwnershipResult(purchase: purchase, kind: kind, owner: owner)
    }
}

extension [Share] {
    /// The shares in a person's purchase that are in force, in the order of this list. The rules
    /// limit how many persons have a share, and separately how many anonymous customers have one.
    /// If there are more, the oldest shares of each kind are in force. The purchase may have more
    /// shares, which began when an anonymous customer owned the purchase.
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
