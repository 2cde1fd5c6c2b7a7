import AppStoreFormats
import AppStoreTrust
import Ledger
import Storage

/// Finds what is known of the store account that a receipt is from. Unknown parts are requested
/// from the App Store if possible. If it does not respond, nothing is reported that might deny
/// access to a paying customer.
extension Engine {
    /// After this many responses that a purchase does not exist, the request does not wait any
    /// longer. The App Store seldom says so of a purchase that exists.
    private static let refusalsMax = 3
    /// The maximum number of checks per request of purchases whose period has just ended.
    private static let unconfirmedMax = 3
    /// The maximum number of other purchases of the same account; further ones are omitted.
    private static let othersMax = 1_000
    /// The documents of each kind that are read to find other purchases of an account: the newest
    /// shows whatever the previous ones did.
    private static let witnessesMax = 1

    /// Records a receipt and returns what is known of its account. Returns nil if that is too
    /// little for a response, and more may be known later: the App Store must be queried about a
    /// purchase for the first time and does not respond; or it has not reported what became of a
    /// purchase at the end of its period, so that we hold it open.
    ///
    /// - Parameter isWhole: whether to include everything that the account has, or only what the
    ///   receipt shows.
    func account(
        of attestation: Attestation, in app: AppSettings, isWhole: Bool
    ) async throws(EngineFailure) -> ReceiptAccount? {
        guard try await keepWithinBudget(attestation, of: app) else { return nil }
        let own = attestation.purchases
        let others = isWhole ? try await others(beside: attestation, in: app.id) : []
        let purchases = own + others
        guard try await isPastKnown(of: own, in: app.id) else { return nil }
        // Other purchases are queried, too; but the receipt's own are returned even if that fails.
        _ = try await isPastKnown(of: others, in: app.id)
        let account = try await known(of: purchases, in: app.id, isWhole: isWhole)
        let held = account.held(at: now(), app.rules)
        guard canAsk(app.id), !held.isEmpty else { return account.holding(held) }
        // What the receipt shows first.
        let unconfirmed = held.keys.sorted { own.contains($0) && !own.contains($1) }
        try await ask(
            aboutUnconfirmed: Array(unconfirmed.prefix(Self.unconfirmedMax)), in: app.id)
        let told = try await known(of: purchases, in: app.id, isWhole: isWhole)
        let left = told.held(at: now(), app.rules)
        return own.contains { left[$0] != nil } ? nil : told.holding(left)
    }

    /// Records a document that a device has submitted. Returns false, and does not record it, if
    /// too many documents of one of its purchases were submitted recently.
    private func keepWithinBudget(
        _ attestation: Attestation, of app: AppSettings
    ) async throws(EngineFailure) -> Bool {
        let kept = attestation.kept
        let now = attestation.document.receivedAt
        do throws(EngineFailure) {
            try await transaction { tx in
                if try tx.keep(kept) { try tx.spend(app.documentBudget, on: [kept], at: now) }
            }
            return true
        } catch {
            guard case .documentBudgetSpent = error else { throw error }
            logger.notice(
                "a receipt was not recorded: too many new documents of a purchase",
                metadata: ["app": "\(app.id)", "reason": "\(error)"])
            return false
        }
    }

    /// The purchases of the same store account besides those in a receipt: whatever is shown by the
    /// newest documents of each kind that show an account with one of the receipt's subscriptions.
    ///
    /// A subscription belongs to one store account and is contained in all later documents about
    /// it. So purchases of another account are not among them, whoever our customer is.
    private func others(
        beside attestation: Attestation, in app: AppID
    ) async throws(EngineFailure) -> [PurchaseID] {
        guard let subscription = attestation.subscription else { return [] }
        let kinds: [StoredDocument.Kind] = [.appReceipt, .receiptAnswer, .notificationV1]
        let witnesses = try await reading { tx in
            try kinds.flatMap { kind in
                try tx.documents(
                    about: subscription, in: app, of: [kind], limit: Self.witnessesMax)
            }
        }
        var others: Set<PurchaseID> = []
        for witness in witnesses where witness.id != attestation.document.id {
            do { others.formUnion(try await self.attestation(again: witness).purchases) } catch {
                // For example, under another configuration. The document shows nothing then, and
                // the other purchases are used.
                logger.notice(
                    "a recorded document can no longer be verified",
                    metadata: [
                        "app": "\(app)", "document": "\(DocumentID(bytes: witness.id))",
                        "error": "\(error)",
                    ])
            }
        }
        return Array(others.subtracting(attestation.purchases).sorted().prefix(Self.othersMax))
    }

    /// What is known of purchases; and, if everything is wanted, of those that Apple's response
    /// about their account names.
    private func known(
        of purchases: [PurchaseID], in app: AppID, isWhole: Bool
    ) async throws(EngineFailure) -> ReceiptAccount {
        try await reading { tx in
            var account = ReceiptAccount()
            for purchase in purchases {
                let documents = try tx.documents(
                    about: purchase, in: app, of: [.receiptAnswer], limit: 1)
                account.take(documents.first)
            }
            var seen: Set<PurchaseID> = []
            let told = isWhole ? account.purchasesTold.sorted().prefix(Self.othersMax) : []
            for purchase in purchases + told where seen.insert(purchase).inserted {
                if let timeline = try tx.timeline(of: purchase, in: app) {
                    account.timelines.append(timeline)
                }
            }
            return account
        }
    }

    /// Whether the App Store has reported the past of purchases. If it has not, it is queried; one
    /// response covers the whole account. Returns true if it cannot be queried, because no more can
    /// be known then.
    private func isPastKnown(
        of purchases: [PurchaseID], in app: AppID
    ) async throws(EngineFailure) -> Bool {
        guard canAsk(app) else { return true }
        let next = try await reading { tx in
            try tx.unasked(among: purchases, in: app, refusedBelow: Self.refusalsMax)
        }
        guard let next else { return true }
        let standing = try await reading { tx in
            try tx.standing(of: app, in: next.purchase.environment)
        }
        // While the App Store does not respond, no request waits for it.
        guard standing.pausedUntil <= now() else { return false }
        if Self.isRefused(next, standing) { return true }
        try await ask(about: next.purchase, in: app)
        return try await reading { tx in
            guard let left = try tx.unasked(next.purchase, in: app) else { return true }
            return Self.isRefused(left, try tx.standing(of: app, in: next.purchase.environment))
        }
    }

    private static func isRefused(_ unasked: Unasked, _ standing: AppStoreStanding) -> Bool {
        standing.failures == 0 && unasked.failures >= refusalsMax
    }
}

/// A purchase whose past the App Store has not reported.
private struct Unasked: Sendable {
    var purchase: PurchaseID
    /// The number of failed checks.
    var failures: Int
}

extension StoreTransaction {
    /// The first purchase with fewer failed checks than this, or else the first one. Returns nil if
    /// the App Store has reported on all.
    fileprivate func unasked(
        among purchases: [PurchaseID], in app: AppID, refusedBelow refusals: Int
    ) throws -> Unasked? {
        var first: Unasked?
        for purchase in purchases {
            guard let unasked = try unasked(purchase, in: app) else { continue }
            if unasked.failures < refusals { return unasked }
            first = first ?? unasked
        }
        return first
    }

    /// Returns nil if the App Store has reported the purchase's past.
    fileprivate func unasked(_ purchase: PurchaseID, in app: AppID) throws -> Unasked? {
        let history = try checkHistory(of: purchase, in: app)?.history
        guard history?.askedAt == nil else { return nil }
        return Unasked(purchase: purchase, failures: history?.failures ?? 0)
    }
}

extension ReceiptAccount {
    /// A copy that shows what is held open.
    fileprivate func holding(_ held: [PurchaseID: Instant]) -> ReceiptAccount {
        var account = self
        account.held = held
        return account
    }
}

extension Attestation {
    /// The purchases that it is about, each once.
    fileprivate var purchases: [PurchaseID] { Set(facts.map(\.purchase)).sorted() }

    /// An auto-renewable subscription that it shows.
    fileprivate var subscription: PurchaseID? {
        let chains = facts.filter { fact in
            guard case .payment(let payment) = fact.statement else { return false }
            return payment.kind == .autoRenewable
        }
        return chains.map(\.purchase).min()
    }
}
