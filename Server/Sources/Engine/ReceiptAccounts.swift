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

    /// What is known of the purchases in a receipt, which is kept. Nil where that is too little for
    /// an answer, and more may be known in a while: the App Store is to be asked about a purchase
    /// for the first time, and does not answer; or it has not said what became of one at the end of
    /// its period, so that we hold it open.
    func account(
        of attestation: Attestation, in app: AppSettings
    ) async throws(EngineFailure) -> ReceiptAccount? {
        do { _ = try await store.keep(attestation.kept) } catch { throw EngineFailure(error) }
        let purchases = attestation.purchases
        guard try await isPastKnown(of: purchases, in: app.id) else { return nil }
        var account = try await known(of: purchases, in: app.id)
        var held = account.held(at: now(), app.rules)
        guard canAsk(app.id) else {
            account.held = held
            return account
        }
        guard !held.isEmpty else { return account }
        let unconfirmed = Array(held.keys.sorted().prefix(Self.unconfirmedMax))
        try await ask(aboutUnconfirmed: unconfirmed, in: app.id)
        account = try await known(of: purchases, in: app.id)
        held = account.held(at: now(), app.rules)
        return held.isEmpty ? account : nil
    }

    private func known(
        of purchases: [PurchaseID], in app: AppID
    ) async throws(EngineFailure) -> ReceiptAccount {
        try await reading { tx in
            var account = ReceiptAccount()
            for purchase in purchases {
                if let timeline = try tx.timeline(of: purchase, in: app) {
                    account.timelines.append(timeline)
                }
                let documents = try tx.documents(
                    about: purchase, in: app, of: [.receiptAnswer], limit: 1)
                account.take(documents.first)
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
        let unasked = try await reading { tx in
            try purchases.first { try tx.checkHistory(of: $0, in: app)?.history.askedAt == nil }
        }
        guard let unasked else { return true }
        try await ask(about: unasked, in: app)
        return try await reading { tx in
            guard let history = try tx.checkHistory(of: unasked, in: app)?.history else {
                return false
            }
            guard history.askedAt == nil else { return true }
            let standing = try tx.standing(of: app, in: unasked.environment)
            return standing.failures == 0 && history.failures >= Self.refusalsMax
        }
    }
}

extension Attestation {
    /// What it says something of, each once.
    fileprivate var purchases: [PurchaseID] { Set(facts.map(\.purchase)).sorted() }
}
