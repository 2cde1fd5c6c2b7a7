import AppStoreClient
import AppStoreFormats
import AppStoreTrust
import Foundation
import Intake
import Ledger
import Storage

/// Decides the effect of a posted document on a purchase, and the result of a preview.
struct PurchaseDecisions {
    let tx: DatabaseSession

    init(_ tx: DatabaseSession) { self.tx = tx }

    func shown(
        _ attestations: [VerifiedDocument], to id: CustomerID, intent: OwnershipClaim.Intent?,
        in app: AppSettings, at now: Instant
    ) throws -> [Preview.Shown] {
        let facts = attestations.flatMap(\.facts)
        let payments = Set(attestations.filter(\.isPayment).flatMap { $0.facts.map(\.purchase) })
        let signed = attestations.signingTimes
        let purchases = signed.keys.filter { $0.appTransaction == nil }
        return try purchases.sorted().compactMap { purchase in
            let known = try tx.purchases.timeline(of: purchase, in: app.id)
            guard known != nil || payments.contains(purchase) else {
                if intent != nil { return nil }
                throw EngineFailure.renewalWithoutTransaction(purchase.original.rawValue)
            }
            let timeline = (known ?? Timeline(of: purchase, [])).adding(facts)
            let claim = try OwnershipDecisions(tx).claim(
                timeline, signedAt: signed[purchase], by: id, intent: intent, in: app, at: now)
            let owner = claim.owner?.customer ?? claim.named
            let access = timeline.access(at: now, rules: app.rules)
            return Preview.Shown(
                purchase: purchase, product: access?.product ?? timeline.periods.last?.product,
                isInUse: access?.isOpen ?? claim.isInUse, owner: owner,
                belongsToClaimant: owner != nil && owner == claim.claimant,
                ownerKind: try owner.map { try customerKind(of: $0, in: app.id) },
                ownerHint: try owner.flatMap { try mailMask(of: $0, in: app.id) },
                verdict: app.verdict(on: claim, in: purchase.environment))
        }
    }

    private func customerKind(of owner: CustomerID, in app: AppID) throws -> CustomerKind {
        CustomerKind(isAnonymous: try OwnershipDecisions(tx).isAnonymous(owner, in: app))
    }

    /// The masked form of the first of a customer's ids that is a mail address. Nil if no id is a
    /// mail address.
    private func mailMask(of owner: CustomerID, in app: AppID) throws -> String? {
        let ids = try tx.customers.find(known: owner, in: app)?.ids ?? [owner]
        return ids.lazy.compactMap(\.mailMask).first
    }

    func obstacle(
        to product: ProductID, of id: CustomerID, _ shown: [Preview.Shown],
        in app: AppSettings, environment: Environment, at now: Instant
    ) throws -> Preview.Obstacle? {
        let isForeign = shown.contains { purchase in
            if case .refuse = purchase.verdict { purchase.isInUse } else { false }
        }
        if isForeign { return .accountOfAnother }
        let timelines = try CustomerReader(tx).timelines(
            answeringFor: id, in: app, environment: environment)
        if let chain = app.terms.products[product]?.chain, app.terms.overlap == .refuse {
            let runs = app.terms.terms(of: timelines).contains {
                $0.chain == chain && now < $0.until
            }
            return runs ? .termRunning : nil
        }
        let known = try tx.customers.find(known: id, in: app.id)
        let seats = try SeatDecisions(tx).seatTimelines(
            of: known, in: app.id, environment: environment, at: now)
        let has = (timelines + seats).contains {
            guard let access = $0.access(at: now, rules: app.rules) else { return false }
            return access.isOpen && access.product == product
        }
        return has ? .alreadyHad : nil
    }

    /// Whether a document about one of these purchases names the given transaction, as a
    /// transaction or as an app transaction. The App Store may report a payment under two
    /// transaction ids; the timeline contains only one of them.
    func isTransaction(
        _ transaction: TransactionID, of purchases: [PurchaseID], in app: AppID
    ) throws -> Bool {
        for purchase in purchases {
            if purchase.original == transaction || purchase.appTransaction == transaction {
                return true
            }
            for fact in try tx.facts.all(about: purchase, in: app).map(\.fact) {
                if case .payment(let payment) = fact.statement, payment.transaction == transaction {
                    return true
                }
            }
        }
        return false
    }

    func purchases(
        of subject: DocumentSubject, in app: AppSettings, at now: Instant
    ) throws -> [PurchaseID] {
        switch subject {
        case .purchase(let purchase): [purchase]
        case .customer(let id, let environment):
            try CustomerReader(tx).state(of: id, in: app, environment: environment, at: now)
                .purchases
                .map(\.timeline.purchase)
        }
    }

    /// The documents about a purchase: one entry for each fact. A document can attest several
    /// facts.
    func documents(
        about purchase: PurchaseID, in app: AppID
    ) throws(StorageFailure) -> [ListedDocument] {
        try tx.facts.all(about: purchase, in: app).map {
            ListedDocument(
                head: DocumentHead(
                    id: $0.document, kind: $0.kind, environment: purchase.environment,
                    source: $0.source, signedAt: $0.fact.attestedAt, receivedAt: $0.receivedAt),
                purchases: [purchase])
        }
    }

    func signingTime(
        of id: [UInt8], in app: AppID, _ hint: DocumentHint
    ) throws -> Instant? {
        if let purchase = hint.purchase,
            let found = try tx.documents.signingTime(of: id, about: purchase, in: app)
        {
            return found
        }
        for range in hint.knownAt.map(DocumentService.ranges) ?? [] {
            if let found = try tx.documents.signingTime(of: id, in: app, within: range) {
                return found
            }
        }
        return nil
    }

    func notificationLine(
        _ head: DocumentHead, of app: AppID
    ) throws(StorageFailure) -> NotificationLine {
        let json = try tx.documents.find(head.id, signedAt: head.signedAt, of: app)?.json
        let type = json?["notificationType"] ?? json?["notification_type"]
        let original = json?["data"]?["signedTransactionInfo"]?["originalTransactionId"]?.string
        let purchase = original.map {
            PurchaseID(TransactionID(rawValue: $0), in: head.environment)
        }
        return NotificationLine(
            head: head, type: type?.string ?? "", subtype: json?["subtype"]?.string,
            purchase: purchase,
            owner: try purchase.flatMap { purchase throws(StorageFailure) in
                try tx.links.find(of: purchase, in: app)?.customer
            }, forwards: try tx.forwards.all(of: head.id, in: app))
    }

    /// Records documents and resolves who owns their purchases. The caller must add the state of
    /// the customer to the result.
    func record(
        _ posted: [PostedDocument], of id: CustomerID, intent: OwnershipClaim.Intent?,
        in app: AppSettings, at now: Instant
    ) throws -> PostingResult {
        var walletCache = WalletProjectionCache()
        let (posted, new) = try insert(posted, isPartial: intent != nil, in: app, &walletCache)
        try tx.documents.spend(
            app.documentBudget, on: new.compactMap { posted[$0].verified?.documentWithFacts },
            at: now)
        let signed = posted.compactMap(\.verified).signingTimes
        let newlySigned = new.compactMap { posted[$0].verified }.signingTimes
        var changes = 0
        let ownerships = try signed.sorted { $0.key < $1.key }.map { purchase, signedAt in
            let timeline =
                try tx.purchases.timeline(of: purchase, in: app.id) ?? Timeline(of: purchase, [])
            let claim = try OwnershipDecisions(tx).claim(
                timeline, signedAt: signedAt, by: id, intent: intent, in: app, at: now)
            if app.verdict(on: claim, about: purchase).isChange { changes += 1 }
            return try OwnershipDecisions(tx).resolve(
                claim, on: purchase, for: id, isDocumentNew: newlySigned[purchase] == signedAt,
                in: app, at: now, &walletCache)
        }
        let outcomes = posted.enumerated().map { $1.outcome(isNew: new.contains($0)) }
        return PostingResult(
            state: nil, documents: outcomes, ownerships: ownerships,
            changesWithoutDocument: new.isEmpty ? changes : 0)
    }

    /// Records documents, payments first. Returns the documents, and the indices of the new
    /// documents. If the request is partial, returns renewal infos without a transaction as
    /// failures.
    private func insert(
        _ posted: [PostedDocument], isPartial: Bool, in app: AppSettings,
        _ walletCache: inout WalletProjectionCache
    ) throws -> ([PostedDocument], new: Set<Int>) {
        var posted = posted
        var new: Set<Int> = []
        for isPayment in [true, false] {
            for (index, one) in posted.enumerated() {
                guard let document = one.verified, document.isPayment == isPayment else { continue }
                if !isPayment, let failure = try purchaseLacking(document, in: app.id) {
                    guard isPartial else { throw failure }
                    posted[index].document = .failure(failure)
                    continue
                }
                // A receipt without any purchase is no evidence, so it is not recorded.
                guard !document.isEmpty else { continue }
                if try DocumentRecorder(tx).record(document.documentWithFacts, &walletCache) {
                    new.insert(index)
                }
            }
        }
        return (posted, new)
    }

    /// The failure of renewal info whose purchase is unknown. Returns nil if the purchase is known.
    private func purchaseLacking(
        _ document: VerifiedDocument, in app: AppID
    ) throws -> EngineFailure? {
        for fact in document.facts
        where try tx.purchases.timeline(of: fact.purchase, in: app) == nil {
            return .renewalWithoutTransaction(fact.purchase.original.rawValue)
        }
        return nil
    }
}
