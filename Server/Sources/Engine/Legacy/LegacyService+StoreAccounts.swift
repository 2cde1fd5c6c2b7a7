import AppStoreFormats
import AppStoreTrust
import Ledger
import Storage

/// Finds everything that is known about a receipt's store account. If possible, the service
/// requests missing data from the App Store. If the App Store does not respond, the service gives
/// no response that might deny access to a paying customer.
extension LegacyService {
    /// After this number of "does not exist" responses about a purchase, a request no longer waits
    /// for the App Store. The App Store seldom gives that response about an existing purchase.
    private static let refusalsMax = 3
    /// The maximum number of checks in a request, for purchases whose period has just ended.
    private static let unconfirmedMax = 3
    /// The maximum number of other purchases of the same account. Further purchases are omitted.
    private static let othersMax = 1_000
    /// The number of documents of each kind that are read to find other purchases of an account:
    /// the newest document contains everything that earlier documents contain.
    private static let witnessesMax = 1

    /// Records a receipt and returns everything that is known about its account. Returns nil if
    /// this is not enough for a response, but may be enough later. This happens in two cases. The
    /// App Store must be queried about a purchase for the first time, and does not respond. Or the
    /// App Store has not reported whether a purchase was renewed at the end of its period, so that
    /// access is held open.
    ///
    /// - Parameter isWhole: whether to include all purchases of the account, or only the purchases
    ///   in the receipt.
    func account(
        of attestation: VerifiedDocument, in app: AppSettings, isWhole: Bool
    ) async throws(EngineFailure) -> VerifyReceiptComposer? {
        guard try await recordWithinBudget(attestation, of: app) else { return nil }
        let own = attestation.purchases
        let others = isWhole ? try await others(beside: attestation, in: app.id) : []
        let purchases = own + others
        guard try await isPastKnown(of: own, in: app.id) else { return nil }
        // The App Store is also queried about the other purchases. The receipt's own purchases are
        // returned even if that fails.
        _ = try await isPastKnown(of: others, in: app.id)
        let account = try await known(of: purchases, in: app.id, isWhole: isWhole)
        let held = account.held(at: context.now(), app.rules)
        guard reconciliation.canQueryAppStore(app.id), !held.isEmpty else {
            return account.holding(held)
        }
        // The purchases in the receipt come first.
        let unconfirmed = held.keys.sorted { own.contains($0) && !own.contains($1) }
        try await reconciliation.reconcileAndWait(
            aboutUnconfirmed: Array(unconfirmed.prefix(Self.unconfirmedMax)), in: app.id)
        let told = try await known(of: purchases, in: app.id, isWhole: isWhole)
        let left = told.held(at: context.now(), app.rules)
        return own.contains { left[$0] != nil } ? nil : told.holding(left)
    }

    /// Records a document that a device has submitted. Returns false, and does not record it, if
    /// too many documents of one of its purchases were submitted recently.
    private func recordWithinBudget(
        _ attestation: VerifiedDocument, of app: AppSettings
    ) async throws(EngineFailure) -> Bool {
        let kept = attestation.documentWithFacts
        let now = attestation.document.receivedAt
        do throws(EngineFailure) {
            try await context.transaction { tx in
                if try DocumentRecorder(tx).record(kept) {
                    try tx.documents.spend(app.documentBudget, on: [kept], at: now)
                }
            }
            return true
        } catch {
            guard case .documentBudgetExhausted = error else { throw error }
            context.logger.notice(
                "a receipt was not recorded: too many new documents of a purchase",
                metadata: ["app": "\(app.id)", "reason": "\(error)"])
            return false
        }
    }

    /// The purchases of a receipt's store account that are not in the receipt. For each kind of
    /// document, reads the newest documents that contain one of the receipt's subscriptions, and
    /// returns the other purchases in them.
    ///
    /// A subscription belongs to one store account and is contained in all later documents about
    /// it. So no purchase of another account is returned.
    private func others(
        beside attestation: VerifiedDocument, in app: AppID
    ) async throws(EngineFailure) -> [PurchaseID] {
        guard let subscription = attestation.subscription else { return [] }
        let kinds: [StoredDocument.Kind] = [.appReceipt, .receiptResponse, .notificationV1]
        let witnesses = try await context.read { tx in
            try kinds.flatMap { kind in
                try tx.documents.all(
                    about: subscription, in: app, of: [kind], limit: Self.witnessesMax)
            }
        }
        var others: Set<PurchaseID> = []
        for witness in witnesses where witness.id != attestation.document.id {
            do {
                others.formUnion(try await self.verification.verify(again: witness).purchases)
            } catch {
                // The document can no longer be verified, for example because the configuration has
                // changed. The document is ignored, and the other purchases are used.
                context.logger.notice(
                    "a recorded document can no longer be verified",
                    metadata: [
                        "app": "\(app)", "document": "\(DocumentID(bytes: witness.id))",
                        "error": "\(error)",
                    ])
            }
        }
        return Array(others.subtracting(attestation.purchases).sorted().prefix(Self.othersMax))
    }

    /// What is known about purchases. If the whole account is requested, the result also contains
    /// the data about the purchases in Apple's response.
    private func known(
        of purchases: [PurchaseID], in app: AppID, isWhole: Bool
    ) async throws(EngineFailure) -> VerifyReceiptComposer {
        try await context.read { tx in
            var account = VerifyReceiptComposer()
            for purchase in purchases {
                let documents = try tx.documents.all(
                    about: purchase, in: app, of: [.receiptResponse], limit: 1)
                account.apply(documents.first)
            }
            var seen: Set<PurchaseID> = []
            let told = isWhole ? account.purchasesInResponse.sorted().prefix(Self.othersMax) : []
            for purchase in purchases + told where seen.insert(purchase).inserted {
                if let timeline = try tx.purchases.timeline(of: purchase, in: app) {
                    account.timelines.append(timeline)
                }
            }
            return account
        }
    }

    /// Whether the App Store has reported the past of purchases. If not, this function queries the
    /// App Store, whose response covers the whole account. Returns true if the App Store cannot be
    /// queried, because then no more can be known.
    private func isPastKnown(
        of purchases: [PurchaseID], in app: AppID
    ) async throws(EngineFailure) -> Bool {
        guard reconciliation.canQueryAppStore(app) else { return true }
        let next = try await context.read { tx in
            try ImportDecisions(tx).firstUnchecked(
                among: purchases, in: app, refusedBelow: Self.refusalsMax)
        }
        guard let next else { return true }
        let standing = try await context.read { tx in
            try tx.appStore.health(of: app, in: next.purchase.environment)
        }
        // While requests to the App Store are paused, no request waits for the App Store.
        guard standing.pausedUntil <= context.now() else { return false }
        if Self.isUnknownToAppStore(next, standing) { return true }
        try await reconciliation.reconcileAndWait(about: next.purchase, in: app)
        return try await context.read { tx in
            guard let left = try ImportDecisions(tx).unchecked(next.purchase, in: app) else {
                return true
            }
            return Self.isUnknownToAppStore(
                left, try tx.appStore.health(of: app, in: next.purchase.environment))
        }
    }

    private static func isUnknownToAppStore(
        _ unasked: UncheckedPurchase, _ standing: AppStoreHealth
    ) -> Bool {
        standing.failures == 0 && unasked.failures >= refusalsMax
    }
}

/// A purchase whose past the App Store has not reported.
struct UncheckedPurchase: Sendable {
    var purchase: PurchaseID
    /// The number of failed checks of the purchase.
    var failures: Int
}

extension VerifyReceiptComposer {
    /// A copy of this composer that shows the held purchases as open.
    fileprivate func holding(_ held: [PurchaseID: Instant]) -> VerifyReceiptComposer {
        var account = self
        account.held = held
        return account
    }
}

extension VerifiedDocument {
    /// The purchases that the document is about, each once.
    fileprivate var purchases: [PurchaseID] { Set(facts.map(\.purchase)).sorted() }

    /// One auto-renewable subscription that the document shows. Nil if the document shows no
    /// subscription.
    fileprivate var subscription: PurchaseID? {
        let chains = facts.filter { fact in
            guard case .payment(let payment) = fact.statement else { return false }
            return payment.kind == .autoRenewable
        }
        return chains.map(\.purchase).min()
    }
}
