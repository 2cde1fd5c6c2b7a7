internal import AccessRules
internal import Foundation
internal import PerennialContract

// MARK: - Documents of the App Store

extension Engine {
    func handle(_ update: StoreUpdate) async {
        await open()
        switch update {
        case .transaction(let document):
            reader.announce(document)
            recordAnnounced()
        case .renewal(let renewal):
            record([renewal])
            await collectChanged([renewal])
            await publish()
            await post()
        case .request(let product, let offerID):
            add(Perennial.PurchaseRequest(product: .init(rawValue: product), offerID: offerID))
        case .storefront:
            products = [:]
            await readStore()
        }
    }

    /// Records the announced documents, reads the store and posts. One run also handles the
    /// announcements that arrive meanwhile, because at a launch StoreKit announces each unfinished
    /// transaction separately.
    func recordAnnounced() {
        guard reader.start() else { return }
        recording = Task {
            while !isOver, let documents = reader.next() {
                await collect(documents, intent: .sync)
                await readStore()
                await post()
            }
            reader.finish()
        }
    }

    /// Reads the store's lists. Saves in the outbox the documents that the server has not recorded.
    /// An empty list changes nothing.
    func readStore() async {
        await open()
        let interval = SignpostInterval("store")
        defer { interval.close() }
        await readEnvironment()
        let unfinished = await store.documents(.unfinished) ?? []
        let entitlements = await store.documents(.entitlements) ?? []
        await collect(unfinished + entitlements, intent: .sync)
        await finishAcknowledged(unfinished)
        let current = entitlements.compactMap { $0.isVerified ? TransactionPayload($0) : nil }
        state.device.storeEvidence.recordList(
            of: Set(current.map(\.originalTransactionId)), at: now, launch: launch)
        if let renewals = await store.renewals(of: Set(state.groups.values)) {
            record(renewals)
            await recordLapsed(renewals)
            await collectChanged(renewals)
        }
        state.isStoreRead = true
        await publish()
    }

    /// Records the documents of subscriptions that are no longer entitlements. Such a document may
    /// report a refund. An empty list is no evidence of a refund.
    private func recordLapsed(_ renewals: [StoreRenewal]) async {
        await collect(renewals.map(\.transaction), intent: .sync)
    }

    /// Saves in the outbox the transactions of subscriptions whose renewal has changed since the
    /// server's last answer: renewal was switched on or off, or another number of seats was
    /// planned. The renewal infos are posted with the transactions. Each renewal info is saved
    /// once.
    private func collectChanged(_ renewals: [StoreRenewal]) async {
        var entries: [OutboxEntry] = []
        for renewal in renewals where renewal.renewalInfo.isVerified {
            guard let payload = RenewalPayload(renewal.renewalInfo),
                let known = state.answer?.subscriptions.first(where: {
                    $0.originalTransactionID == payload.originalTransactionId
                }), payload.changes(known), let id = buyer.id,
                renewal.transaction.isVerified, !state.isXcode,
                let transaction = TransactionPayload(renewal.transaction),
                reader.post(renewal.renewalInfo.jws)
            else { continue }
            entries.append(
                OutboxEntry(renewal.transaction, transaction, .sync, for: id, firstSeen: now))
        }
        guard !entries.isEmpty else { return }
        do { _ = try await outbox?.add(entries) } catch {
            log.error("store", "Documents could not be saved: \(error).")
        }
    }

    private func record(_ renewals: [StoreRenewal]) {
        for renewal in renewals where renewal.renewalInfo.isVerified {
            guard let payload = RenewalPayload(renewal.renewalInfo) else { continue }
            state.renewalInfos[payload.originalTransactionId] = renewal.renewalInfo.jws
        }
        for status in renewals.compactMap({ $0.makeStatus() }) {
            state.device.storeEvidence.record(status, at: now, launch: launch)
            // Without a network StoreKit repeats the last state that it knows. So the answer has
            // the time of that state.
            let answeredAt = min(status.signedAt, now)
            state.device.storeEvidence.answeredAt = max(
                state.device.storeEvidence.answeredAt ?? answeredAt, answeredAt)
        }
        let isUnconfirmed = state.device.storeEvidence.statuses.values.contains { !$0.isConfirmed }
        let isMissing = state.device.storeEvidence.missing.keys.contains {
            !state.device.storeEvidence.absent.contains($0)
        }
        if isUnconfirmed || isMissing { reader.planSecondLook(at: clock.monotonic()) }
    }

    /// Records documents, and saves in the outbox those that the server has not acknowledged.
    ///
    /// - Parameter buyer: the customer who bought. Nil means the present customer.
    func collect(
        _ documents: [StoreDocument], intent: PerennialContract.PurchaseIntent,
        isHeld: Bool = false, for buyer: Buyer? = nil, at placement: Perennial.PlacementID? = nil
    ) async {
        let buyer = buyer ?? self.buyer
        var entries: [OutboxEntry] = []
        let (ofOthers, inOutbox) = await transactionsInOutbox()
        var waiting = inOutbox
        for (document, payload) in Self.oldestFirst(documents) {
            // A forged document must not set the environment in which purchases are made.
            if document.isVerified { recordEnvironment(payload.environment) }
            let isWaiting = waiting.contains(payload.transactionId) && isKnown(document, payload)
            removeApproval(by: document, payload)
            let isNews = record(document, payload, isHeld: isHeld, for: buyer)
            // A purchase made on this device is posted as a purchase, even if an update recorded
            // the transaction first.
            guard isNews || intent == .purchase, !state.isXcode, let customer = buyer.id,
                intent != .sync || !isWaiting && !ofOthers.contains(payload.transactionId)
            else { continue }
            // Each of the store's lists may contain the same transaction, signed anew.
            waiting.insert(payload.transactionId)
            entries.append(
                OutboxEntry(
                    document, payload, intent, for: customer, at: placement, firstSeen: now))
        }
        guard !entries.isEmpty else { return }
        do {
            let additions = try await outbox?.add(entries) ?? []
            if additions.contains(.full) {
                // The remaining transactions stay unfinished. The engine reads them again when the
                // outbox has room.
                posting.recordFull()
            } else {
                await complete(await replaced(by: entries))
            }
        } catch {
            log.error("store", "Documents could not be saved: \(error).")
        }
    }

    /// Removes the wait for a parent's approval if the transaction is new to this device.
    private func removeApproval(by document: StoreDocument, _ payload: TransactionPayload) {
        guard document.isVerified,
            state.device.storeEvidence.transactions[payload.transactionId] == nil
        else { return }
        state.waiting.removeAll {
            $0.reason == .approval && $0.product.rawValue == payload.productId
        }
    }

    private static func oldestFirst(
        _ documents: [StoreDocument]
    ) -> [(StoreDocument, TransactionPayload)] {
        documents.compactMap { document in TransactionPayload(document).map { (document, $0) } }
            .sorted { $0.1.purchaseDate < $1.1.purchaseDate }
    }

    /// The transactions of other customers, and those of the present customer, that wait to be
    /// posted. A waiting transaction of another customer must not be posted for the present
    /// customer.
    private func transactionsInOutbox() async -> (ofOthers: Set<String>, waiting: Set<String>) {
        var ofOthers: Set<String> = []
        var waiting: Set<String> = []
        for entry in await outbox?.entries ?? [] where entry.state == .waiting {
            guard let id = entry.transactionID else { continue }
            if entry.customerID == state.device.customerID {
                waiting.insert(id)
            } else {
                ofOthers.insert(id)
            }
        }
        return (ofOthers, waiting)
    }

    /// The refused entries that the given entries replace: a transaction with a new signature may
    /// be accepted.
    private func replaced(by entries: [OutboxEntry]) async -> [String] {
        let new = Set(entries.map(\.id))
        let transactions = Set(entries.compactMap(\.transactionID))
        return (await outbox?.entries ?? []).filter { entry in
            entry.state != .waiting && !new.contains(entry.id)
                && entry.customerID == entries.first?.customerID
                && entry.transactionID.map(transactions.contains) == true
        }.map(\.id)
    }

    /// Whether a document has no new content. StoreKit may sign the same content again.
    func isKnown(_ document: StoreDocument, _ payload: TransactionPayload) -> Bool {
        guard document.isVerified,
            let old = state.device.storeEvidence.transactions[payload.transactionId]
        else { return false }
        return old.hasSameContent(as: payload.makeTransaction(isHeld: false, firstSeenFor: nil))
    }

    /// Records a document. Returns whether it must be posted.
    private func record(
        _ document: StoreDocument, _ payload: TransactionPayload, isHeld: Bool, for buyer: Buyer
    ) -> Bool {
        guard document.isVerified else { return true }
        var transaction = payload.makeTransaction(isHeld: isHeld, firstSeenFor: buyer.person)
        let old = state.device.storeEvidence.transactions[transaction.id]
        if let old, old.isAcknowledged, old.hasSameContent(as: transaction) {
            transaction.isAcknowledged = true
        }
        state.device.storeEvidence.record(transaction)
        state.groups[transaction.originalID] = payload.subscriptionGroupIdentifier
        state.clock.anchor(
            signed: transaction.signedAt, monotonic: clock.monotonic(), bootID: clock.bootID(),
            isContact: false)
        return !transaction.isAcknowledged
    }

    /// Reads the environment from the app's own transaction, before the first purchase.
    private func readEnvironment() async {
        guard let document = await store.appTransaction(), document.isVerified,
            let payload = AppTransactionPayload(document)
        else { return }
        recordEnvironment(payload.receiptType ?? payload.environment)
    }

    private func recordEnvironment(_ name: String?) {
        switch name {
        case "Xcode", "LocalTesting":
            if !state.isXcode {
                log.notice("store", "Xcode's local store signs here: nothing is posted.")
            }
            state.isXcode = true
        case "Sandbox": enter(.sandbox)
        case "Production": enter(.production)
        default: break
        }
    }

    /// Switches to an environment. Evidence of one environment does not count in another.
    private func enter(_ environment: PerennialContract.StoreEnvironment) {
        let before = state.contractEnvironment
        state.device.environment = environment
        guard before != environment else { return }
        state.serverEvidence = nil
        state.answer = nil
        state.device.token = nil
        state.device.closed = [:]
        state.device.storeEvidence = StoreEvidence(isTrusted: state.device.storeEvidence.isTrusted)
        (state.offerings, state.areOfferingsCurrent) = (nil, false)
        session.forgetTag()
        offeringsETag = nil
        session.require(.customer)
        session.require(.offerings)
    }
}

extension RenewalPayload {
    /// Whether the renewal info differs from the server's data about the next period.
    fileprivate func changes(_ known: PerennialContract.Subscription) -> Bool {
        if let renews = known.willRenew, let autoRenewStatus, renews != (autoRenewStatus == 1) {
            return true
        }
        guard let planned = known.seats?.atRenewal, let renewalQuantity else { return false }
        return planned != renewalQuantity
    }
}

/// The fields of the signed app transaction that the engine reads.
struct AppTransactionPayload: Decodable {
    var receiptType: String?
    var environment: String?

    init?(_ document: StoreDocument) {
        guard let payload = CompactPayload.bytes(of: document.jws),
            let value = try? JSONDecoder().decode(Self.self, from: payload)
        else { return nil }
        self = value
    }
}
