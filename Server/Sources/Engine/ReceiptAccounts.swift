import AppStoreFormats
import AppStoreTrust
import Ledger
import Storage

/// What is known of the store account that a receipt is from. What is not known is asked for, where
/// it can be; where the store is silent, nothing is said that might shut out who has paid.
extension Engine {
    /// Where the store answers, but so often says that it does not know a purchase, nothing more is
    /// waited for: it seldom says so of one that exists.
    private static let refusalsMax = 3
    /// Questions for one answer, about purchases whose period has just ended.
    private static let unconfirmedMax = 3
    /// Of one account, beside those in the receipt; more are left out.
    private static let othersMax = 1_000
    /// Documents of each kind that are read for other purchases of an account: the newest shows
    /// whatever those before it did.
    private static let witnessesMax = 1

    /// What is known of the account of a receipt, which is kept. Nil where that is too little for
    /// an answer, and more may be known in a while: the App Store is to be asked about a purchase
    /// for the first time, and does not answer; or it has not said what became of one at the end of
    /// its period, so that we hold it open.
    ///
    /// - Parameter isWhole: whether all that the account has is wanted, or only what the receipt
    ///   shows.
    func account(
        of attestation: Attestation, in app: AppSettings, isWhole: Bool
    ) async throws(EngineFailure) -> ReceiptAccount? {
        guard try await keepWithinBudget(attestation, of: app) else { return nil }
        let own = attestation.purchases
        let others = isWhole ? try await others(beside: attestation, in: app.id) : []
        let purchases = own + others
        guard try await isPastKnown(of: own, in: app.id) else { return nil }
        // About the others, too; but what the receipt shows is told also where that brings nothing.
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

    /// Keeps what a device has brought. False where too much of one of its purchases was brought
    /// lately: then it is not kept.
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
                "A receipt was not kept: too many new documents of a purchase.",
                metadata: ["app": "\(app.id)", "reason": "\(error)"])
            return false
        }
    }

    /// What the same store account has beside the purchases in a receipt: whatever the newest
    /// documents show that each show an account, and one of the receipt's subscriptions in it.
    ///
    /// A subscription is one account's, and stands in all later documents about that account. So
    /// what belongs to another account is not among them, whoever our customer is.
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
                // As under another configuration. It shows nothing, and the others are told.
                logger.notice(
                    "A document that was kept cannot be verified any more.",
                    metadata: [
                        "app": "\(app)", "document": "\(DocumentID(bytes: witness.id))",
                        "error": "\(error)",
                    ])
            }
        }
        return Array(others.subtracting(attestation.purchases).sorted().prefix(Self.othersMax))
    }

    /// What is known of purchases, and where all is wanted also of those that Apple's own answer
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

    /// Whether the store has told the past of purchases, which it is asked for where it has not;
    /// one answer is about the whole account. Where nobody can be asked, there is no more to know.
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
        // While the store does not answer, nobody waits for it.
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

/// A purchase of whose past the store has not told.
private struct Unasked: Sendable {
    var purchase: PurchaseID
    /// How often it was asked about in vain.
    var failures: Int
}

extension StoreTransaction {
    /// The first that was asked about in vain less often than so, else the first; nil where the
    /// store has told of all.
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

    /// Nil where the store has told of its past.
    fileprivate func unasked(_ purchase: PurchaseID, in app: AppID) throws -> Unasked? {
        let history = try checkHistory(of: purchase, in: app)?.history
        guard history?.askedAt == nil else { return nil }
        return Unasked(purchase: purchase, failures: history?.failures ?? 0)
    }
}

extension ReceiptAccount {
    /// The same, which shows what is held open.
    fileprivate func holding(_ held: [PurchaseID: Instant]) -> ReceiptAccount {
        var account = self
        account.held = held
        return account
    }
}

extension Attestation {
    /// What it says something of, each once.
    fileprivate var purchases: [PurchaseID] { Set(facts.map(\.purchase)).sorted() }

    /// A chain of renewals that it shows.
    fileprivate var subscription: PurchaseID? {
        let chains = facts.filter { fact in
            guard case .payment(let payment) = fact.statement else { return false }
            return payment.kind == .autoRenewable
        }
        return chains.map(\.purchase).min()
    }
}
