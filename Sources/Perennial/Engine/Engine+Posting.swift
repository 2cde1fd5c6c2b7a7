internal import AccessRules
internal import Foundation
internal import PerennialContract

// MARK: - Posting to the server

extension Engine {
    /// The maximum number of batches that one run posts.
    static let batchesMax = 1000
    /// How many milliseconds pass before an unsaved entry is saved again.
    static let unwrittenWait: Int64 = 60_000

    /// Sends all entries that are due, oldest first. Failed entries are sent again later.
    ///
    /// - Parameter isAwaited: whether a caller waits for the run. Otherwise the run obeys the
    ///   budget.
    func post(isAwaited: Bool = false) async {
        await open()
        // Before the log-ins: attributes of an anonymous customer may be written without a proof
        // only until this customer is merged with a person.
        if session.failuresInARow == 0 {
            await attributes.post(through: self, isAwaited: isAwaited)
        }
        guard mayPost, outbox?.isWriter == true else { return }
        // The run in progress also serves this caller.
        guard posting.begin(isAwaited: isAwaited) else { return }
        defer { posting.finish() }
        await writeUnwritten()
        for _ in 0..<Self.batchesMax {
            guard posting.isAwaited || mayAsk else { break }
            let due = await outbox?.due(at: now) ?? []
            guard let batch = posting.batch(of: due),
                await send(
                    batch, within: configuration.patience * 3, isAwaited: posting.isAwaited)
            else { break }
            if posting.makeRoom() { recordAnnounced() }
        }
        if session.requires(.orderOfAnswers) {
            try? await fetchCustomer(within: configuration.patience, isAwaited: isAwaited)
        }
        await recordWaiting()
        await publish()
    }

    /// Sends a batch. Returns whether the next batch may be sent.
    private func send(
        _ batch: [OutboxEntry], within timeout: TimeInterval, isAwaited: Bool
    ) async -> Bool {
        do {
            switch batch.first?.content {
            case .document:
                try await postDocuments(batch, within: timeout, isAwaited: isAwaited)
            case .debit(let debit):
                guard let entry = batch.first else { return false }
                try await postDebit(debit, entry, within: timeout, isAwaited: isAwaited)
            case .alias(let alias):
                guard let entry = batch.first else { return false }
                try await join(
                    alias, with: entry.customerID, within: timeout, isAwaited: isAwaited)
                await complete([entry.id])
            case nil: return false
            }
            return true
        } catch {
            return await handle(error, of: batch)
        }
    }

    private func handle(_ error: ServerError, of batch: [OutboxEntry]) async -> Bool {
        if !error.isHeldBack, !error.failure.isTemporary { session.recordRefusal() }
        let ids = batch.map(\.id)
        switch posting.recordFailure(error, of: batch) {
        case .heldBack: return false
        case .settled: await complete(ids)
        case .postedAlone: break
        case .setApart(let code):
            for id in ids { try? await outbox?.setApart(id, code: code, at: now) }
        case .postponed:
            let wait = max(retryWait, Int64(error.retryAfter ?? 0) * 1000, RetryPauses.min)
            let next = Timestamp(milliseconds: now.milliseconds + wait)
            try? await outbox?.postpone(ids, until: next)
            return false
        }
        return true
    }

    /// Posts documents, and applies the server's outcome to each.
    ///
    /// - Throws: a failure that is not about the documents themselves.
    func postDocuments(
        _ entries: [OutboxEntry], within timeout: TimeInterval, isAwaited: Bool = true
    ) async throws(ServerError) {
        guard let customer = entries.first?.customerID,
            case .document(let first) = entries.first?.content
        else { return }
        let interval = SignpostInterval("post")
        defer { interval.close() }
        var body = PurchasesRequest(
            customerID: customer, intent: first.intent, placement: first.placement,
            sdk: Perennial.libraryName)
        let documents = entries.compactMap { entry -> OutboxEntry.Document? in
            guard case .document(let document) = entry.content else { return nil }
            return document
        }
        let transactions = documents.filter { $0.kind == .transaction }
        body.signedTransactions = transactions.isEmpty ? nil : transactions.map(\.text)
        body.signedRenewalInfos = renewalInfos(of: transactions)
        body.appReceipt = documents.first { $0.kind == .receipt }?.text
        body.signedAppTransaction = documents.first { $0.kind == .appTransaction }?.text
        do {
            let answer = try await send(
                .post(Paths.purchases, body, for: customer, within: timeout),
                isAwaited: isAwaited)
            let answered = try answer.decode(PerennialContract.Customer.self)
            await accept(answered, for: customer, by: answer.number)
            await apply(entries, by: answered.outcomes)
        } catch {
            guard let problem = error.problem, problem.customer != nil || problem.outcomes != nil
            else { throw error }
            if let answered = problem.customer {
                await accept(answered, for: customer, by: error.number)
            }
            // If a purchase was refused, the problem contains the outcomes; otherwise, the customer
            // in the problem contains them.
            await apply(entries, by: problem.outcomes ?? problem.customer?.outcomes ?? [])
        }
    }

    /// The store's renewal infos of the documents' subscriptions, as many as fit into one request.
    /// Nil if the store has no renewal info of them.
    private func renewalInfos(of documents: [OutboxEntry.Document]) -> [String]? {
        let ids = Set(
            documents.compactMap {
                TransactionPayload(StoreDocument(jws: $0.text, isVerified: true))?
                    .originalTransactionId
            })
        let infos = ids.sorted().compactMap { state.renewalInfos[$0] }
        let fitting = Array(infos.prefix(OutboxPosting.batchMax - documents.count))
        return fitting.isEmpty ? nil : fitting
    }

    /// - Parameter outcomes: the server's outcome for each document. A document without an outcome
    ///   was not recorded. Nil if the server has recorded every document.
    private func apply(_ entries: [OutboxEntry], by outcomes: [DocumentOutcome]?) async {
        var position = 0
        var acknowledged: [OutboxEntry] = []
        for entry in entries {
            guard case .document(let document) = entry.content else { continue }
            let member = document.kind.member
            let index = document.kind == .transaction ? position : 0
            if document.kind == .transaction { position += 1 }
            let outcome = outcomes?.first { $0.member == member && $0.index == index }
            switch outcome?.outcome {
            case .kept?, .repeat?: acknowledged.append(entry)
            case nil where outcomes == nil: acknowledged.append(entry)
            default: await leave(entry, outcome)
            }
        }
        await acknowledge(acknowledged)
    }

    /// Handles an entry that the server has not recorded: a refused document stays unfinished.
    private func leave(_ entry: OutboxEntry, _ outcome: DocumentOutcome?) async {
        guard outcome?.outcome == .refused else {
            let wait = max(RetryPauses.wait(after: entry.attempts + 1), RetryPauses.min)
            let next = Timestamp(milliseconds: now.milliseconds + wait)
            try? await outbox?.postpone([entry.id], until: next)
            return
        }
        let code = outcome?.code?.rawValue ?? "refused"
        log.error("server", "A document was refused (\(code)). It stays unfinished.")
        try? await outbox?.setApart(entry.id, code: code, at: now)
    }

    /// Finishes transactions that the server has recorded. A transaction must never be finished
    /// before the server has recorded it.
    private func acknowledge(_ entries: [OutboxEntry]) async {
        var finished: [StoreDocument] = []
        for entry in entries {
            guard case .document(let document) = entry.content else { continue }
            let posted = StoreDocument(jws: document.text, isVerified: true)
            guard let payload = TransactionPayload(posted) else { continue }
            let isVerified = state.device.storeEvidence.transactions[payload.transactionId] != nil
            state.device.storeEvidence.acknowledge(
                payload.makeTransaction(isHeld: false, firstSeenFor: nil))
            // A transaction that StoreKit has not verified is never finished.
            if isVerified || !isOfPresent(entry), mayFinish(payload) { finished.append(posted) }
        }
        if outbox != nil, !finished.isEmpty { await store.finish(finished) }
        let copies = await copies(of: entries)
        await complete((entries + copies).map(\.id))
    }

    /// Removes settled entries from the outbox. If the removal cannot be written, for example on a
    /// full disk, the entries are sent again later. The server recognises each document and debit.
    func complete(_ ids: [String]) async {
        posting.recordCompleted(ids)
        do { try await outbox?.complete(ids) } catch {
            log.error("store", "Acknowledged entries could not be removed: \(error).")
            let next = now.milliseconds + Self.unwrittenWait
            try? await outbox?.postpone(ids, until: Timestamp(milliseconds: next))
        }
    }

    /// The waiting entries for the same customer that have the same content as the given entries.
    /// Such copies exist because the store signs a transaction again for each of its lists.
    private func copies(of entries: [OutboxEntry]) async -> [OutboxEntry] {
        let known = Dictionary(
            entries.compactMap { entry in entry.transaction.map { ($0.id, $0) } },
            uniquingKeysWith: { $1 })
        return (await outbox?.entries ?? []).filter { other in
            guard other.state == .waiting, other.customerID == entries.first?.customerID,
                let id = other.transactionID, let transaction = known[id]
            else { return false }
            return other.transaction?.hasSameContent(as: transaction) == true
        }
    }

    /// Whether the entry belongs to the present customer. After a log-out, this device has no
    /// evidence of the previous customer's document, but the server has verified the document.
    private func isOfPresent(_ entry: OutboxEntry) -> Bool {
        entry.customerID == state.device.customerID
    }

    /// Whether this instance may finish a transaction. An observer may never finish one. If the app
    /// also sells in another way, only transactions of products in the offerings are finished.
    private func mayFinish(_ payload: TransactionPayload) -> Bool {
        guard configuration.role == .seller else { return false }
        if purchasing.ownTransactions.contains(payload.transactionId) { return true }
        guard let offerings = state.offerings else { return false }
        return offerings.products.contains { $0.productID == payload.productId }
            || offerings.placements.contains { $0.products.contains(payload.productId) }
    }

    /// Finishes transactions that the server acknowledged before it was known whether the offerings
    /// contain their products.
    func finishAcknowledged(_ unfinished: [StoreDocument]) async {
        let finished = unfinished.filter { document in
            guard document.isVerified, let payload = TransactionPayload(document),
                let transaction = state.device.storeEvidence.transactions[payload.transactionId]
            else { return false }
            return transaction.isAcknowledged && isKnown(document, payload) && mayFinish(payload)
        }
        if outbox != nil, !finished.isEmpty { await store.finish(finished) }
    }

    func recordWaiting() async {
        let entries = await outbox?.entries ?? []
        var waiting = state.waiting.filter { $0.reason != .server }
        for entry in entries where entry.customerID == state.device.customerID {
            guard case .document(let document) = entry.content, entry.state == .waiting,
                document.intent == .purchase, let product = document.productID
            else { continue }
            waiting.append(
                Perennial.WaitingPurchase(
                    product: .init(rawValue: product), reason: .server,
                    since: entry.firstSeen.date))
        }
        state.waiting = waiting
        state.unconfirmedDebits = await waitingDebits()
        await recordUnsent()
    }

    /// Updates the flag that says whether a waiting entry may open an entitlement that the store's
    /// evidence does not contain.
    func recordUnsent() async {
        let waiting = posting.unwritten + (await outbox?.entries ?? [])
        state.isAnythingUnsent = waiting.contains {
            $0.customerID == state.device.customerID && $0.state == .waiting
                && $0.opensWhatNoEvidenceNames
        }
    }
}

extension OutboxEntry {
    /// Whether the entry may open an entitlement that the store's evidence does not contain. Such
    /// an entry is a receipt, or a log-in that gives a person the purchases of an anonymous
    /// customer.
    fileprivate var opensWhatNoEvidenceNames: Bool {
        switch content {
        case .document(let document): document.kind != .transaction
        case .alias: true
        case .debit: false
        }
    }

    /// Creates the entry that posts a transaction.
    ///
    /// - Parameter customer: the customer who bought it, or who wants to restore it.
    init(
        _ document: StoreDocument, _ payload: TransactionPayload,
        _ intent: PerennialContract.PurchaseIntent, for customer: String,
        at placement: Perennial.PlacementID? = nil, firstSeen: Timestamp
    ) {
        self.init(
            .document(
                Document(
                    kind: .transaction, text: document.jws, intent: intent,
                    transactionID: payload.transactionId, productID: payload.productId,
                    placement: placement?.rawValue)),
            for: customer, firstSeen: firstSeen)
    }

    var transactionID: String? {
        guard case .document(let document) = content else { return nil }
        return document.transactionID
    }

    /// The document's transaction. Nil if the document contains none.
    fileprivate var transaction: StoreTransaction? {
        guard case .document(let document) = content, document.kind == .transaction else {
            return nil
        }
        let posted = StoreDocument(jws: document.text, isVerified: true)
        return TransactionPayload(posted)?.makeTransaction(isHeld: false, firstSeenFor: nil)
    }

    /// Whether the entry's document is one of these signed texts.
    func isAmong(_ texts: Set<String>) -> Bool {
        guard case .document(let document) = content else { return false }
        return texts.contains(document.text)
    }
}

extension OutboxEntry.Document.Kind {
    /// The member of the request body that contains the document.
    fileprivate var member: String {
        switch self {
        case .transaction: "signed_transactions"
        case .renewalInfo: "signed_renewal_infos"
        case .appTransaction: "signed_app_transaction"
        case .receipt: "app_receipt"
        }
    }
}
