internal import Foundation
internal import PerennialContract

// MARK: - Restoring

extension Engine {
    /// Restores purchases. Asks for the account's password only if the first attempt found no
    /// purchase, or if the server needs newer documents of the purchases that were found. Changes
    /// nothing if another customer would lose a purchase.
    func restore() async throws(Perennial.Failure) -> Perennial.Restoration {
        let interval = SignpostInterval("restore")
        defer { interval.close() }
        await open()
        let id = try presentCustomer()
        var documents = await ownDocuments()
        let wasEmpty = documents.isEmpty
        if wasEmpty { documents = try await fetchedDocuments() }
        guard !documents.isEmpty else {
            try await fetchCustomer(within: configuration.patience)
            return await makeRestoration(.nothingFound, Perennial.RestorePreview(items: []))
        }
        var (preview, isOutdated) = try await preview(documents, for: id)
        if isOutdated, !wasEmpty, let fetched = try? await fetchedDocuments() {
            documents = fetched
            (preview, _) = try await self.preview(documents, for: id)
        }
        if preview.items.contains(where: { $0.effect == .moves }) {
            return await makeRestoration(.needsConsent, preview)
        }
        return try await restore(documents, for: id, shown: preview)
    }

    /// All purchases of the store account. The store asks for the account's password, and signs the
    /// purchases again. If the customer cancels, the result is the documents that this device has.
    private func fetchedDocuments() async throws(Perennial.Failure) -> [StoreDocument] {
        do { try await store.sync() } catch {
            guard error == .cancelled else { throw Perennial.Failure(error) }
        }
        return await ownDocuments()
    }

    func previewRestore() async throws(Perennial.Failure) -> Perennial.RestorePreview {
        await open()
        let id = try presentCustomer()
        let documents = await ownDocuments()
        guard !documents.isEmpty else { return Perennial.RestorePreview(items: []) }
        return try await preview(documents, for: id).preview
    }

    /// Restores what a preview showed, if the preview is still valid.
    func restore(
        _ shown: Perennial.RestorePreview
    ) async throws(Perennial.Failure) -> Perennial.Restoration {
        let interval = SignpostInterval("restore")
        defer { interval.close() }
        await open()
        let id = try presentCustomer()
        let documents = await ownDocuments()
        let preview = try await preview(documents, for: id).preview
        guard Set(preview.items) == Set(shown.items) else {
            throw Perennial.Failure(
                .previewOutdated, remedy: "Something has changed: show a new preview.")
        }
        return try await restore(documents, for: id, shown: preview)
    }

    private func presentCustomer() throws(Perennial.Failure) -> String {
        guard let id = state.device.customerID else {
            throw Perennial.Failure(.customerMissing, remedy: "Call `identify` first.")
        }
        return id
    }

    /// All purchases of the store account, without duplicates.
    private func ownDocuments() async -> [StoreDocument] {
        let all = await store.documents(.all) ?? []
        let entitlements = await store.documents(.entitlements) ?? []
        var seen: Set<String> = []
        return (all + entitlements).filter { $0.isVerified && seen.insert($0.jws).inserted }
    }

    /// The preview of a restore, and whether newer documents would restore further purchases.
    private func preview(
        _ documents: [StoreDocument], for id: String
    ) async throws(Perennial.Failure) -> (preview: Perennial.RestorePreview, isOutdated: Bool) {
        var isOutdated = false
        var items: [String: Perennial.RestorePreview.ShownPurchase] = [:]
        for start in stride(from: 0, to: documents.count, by: OutboxPosting.batchMax) {
            let part = documents[start..<min(start + OutboxPosting.batchMax, documents.count)]
            let body = PreviewRequest(
                customerID: id, intent: .restore, signedTransactions: part.map(\.jws))
            do {
                let answer = try await send(
                    .post(Paths.preview, body, for: id, within: configuration.patience))
                for shown in try answer.decode(PurchasePreview.self).purchases {
                    items[shown.originalTransactionID] = Perennial.RestorePreview.ShownPurchase(
                        shown)
                    if shown.wantsNewerDocument { isOutdated = true }
                }
            } catch {
                throw error.failure
            }
        }
        let sorted = items.values.sorted { $0.purchase < $1.purchase }
        return (Perennial.RestorePreview(items: sorted), isOutdated)
    }

    /// Restores what the preview for a customer shows, if that customer is still signed in.
    private func restore(
        _ documents: [StoreDocument], for id: String, shown preview: Perennial.RestorePreview
    ) async throws(Perennial.Failure) -> Perennial.Restoration {
        try checkStays(id)
        await collect(documents, intent: .restore)
        let entries = documents.compactMap { document in
            TransactionPayload(document).map {
                OutboxEntry(document, $0, .restore, for: id, firstSeen: now)
            }
        }
        _ = try? await outbox?.add(entries)
        for start in stride(from: 0, to: entries.count, by: OutboxPosting.batchMax) {
            let part = Array(entries[start..<min(start + OutboxPosting.batchMax, entries.count)])
            do {
                try await postDocuments(part, within: configuration.patience)
            } catch {
                throw error.failure
            }
        }
        state.waiting.removeAll { $0.reason == .restore }
        await publish()
        return await makeRestoration(preview.outcome, preview)
    }

    private func makeRestoration(
        _ outcome: Perennial.Restoration.Outcome, _ preview: Perennial.RestorePreview
    ) async -> Perennial.Restoration {
        Perennial.Restoration(outcome: outcome, preview: preview, snapshot: publisher.snapshot)
    }
}

extension Perennial.RestorePreview {
    /// The outcome if the restore does everything that the preview shows.
    fileprivate var outcome: Perennial.Restoration.Outcome {
        let effects = Set(items.map(\.effect))
        if effects.isEmpty { return .nothingFound }
        if effects == [.refused] { return .refused }
        return effects == [.nothing] ? .nothingNew : .restored
    }
}

extension PurchasePreview.Shown {
    /// Whether the purchase might be restored if its document were signed again.
    fileprivate var wantsNewerDocument: Bool {
        why == "document_too_old" || (why == "shared_with_most" && ownerKind == .anonymous)
    }
}

extension Perennial.RestorePreview.ShownPurchase {
    /// Creates the purchase of a preview. A move from an anonymous customer is shown as a link,
    /// because such a move takes no purchase from another person.
    fileprivate init(_ shown: PurchasePreview.Shown) {
        let takesFromAPerson = shown.ownerKind != .anonymous
        let effect = Perennial.RestorePreview.Effect(rawValue: shown.outcome)
        self.init(
            purchase: shown.originalTransactionID,
            product: .init(rawValue: shown.productID ?? ""), isActive: shown.active,
            effect: effect == .moves && !takesFromAPerson ? .links : effect,
            ownerHint: shown.ownerHint)
    }
}
