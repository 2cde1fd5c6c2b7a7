internal import AccessRules
internal import Foundation
internal import PerennialContract

// MARK: - Buying

extension Engine {
    /// Buys a product. A second call for the same product during the first call returns the outcome
    /// of the first call. A call for another product waits.
    func purchase(
        _ product: Perennial.ProductID, _ options: Perennial.PurchaseOptions,
        anchor: PurchaseAnchor?
    ) async -> PurchaseOutcome {
        await open()
        let (key, buyer) = (
            PurchaseKey(product: product, customer: buyer.id, seats: options.seats), buyer
        )
        var before: Task<PurchaseOutcome, Never>?
        switch purchasing.start(key) {
        case .joined:
            if let running = purchases[key] { return await running.value }
        case .atOnce: break
        case .after(let last): before = purchases[last]
        }
        let task = Task { [before] () -> PurchaseOutcome in
            _ = await before?.value
            return await buy(product, options, for: buyer, anchor: anchor)
        }
        purchases[key] = task
        let outcome = await task.value
        purchasing.finish(key)
        purchases[key] = nil
        return outcome
    }

    private func buy(
        _ product: Perennial.ProductID, _ options: Perennial.PurchaseOptions,
        for buyer: Buyer, anchor: PurchaseAnchor?
    ) async -> PurchaseOutcome {
        let interval = SignpostInterval("purchase")
        defer { interval.close() }
        do throws(Perennial.Failure) {
            try checkMayBuy()
            try checkStays(buyer.id)
            if let seats = options.seats { try await check(seats, of: product) }
            if !options.regardlessOfAdvice,
                let outcome = try advisedAgainst(product, addsSeats: options.seats != nil)
            {
                return .success(await makePurchase(outcome, product))
            }
            return .success(try await buyNow(product, options, for: buyer, anchor: anchor))
        } catch {
            log.info("store", "A purchase failed: \(error.code.rawValue).")
            return .failure(error)
        }
    }

    private func checkMayBuy() throws(Perennial.Failure) {
        guard configuration.role == .seller else {
            throw Perennial.Failure(
                .observing, remedy: "Buy with StoreKit, and call `receive` with the result.")
        }
        guard state.device.customerID != nil else {
            throw Perennial.Failure(
                .customerMissing, remedy: "Call `identify` before the first purchase.")
        }
    }

    /// Throws if another customer has signed in: a purchase that one customer requested must not be
    /// made for the next person on this device.
    func checkStays(_ customer: String?) throws(Perennial.Failure) {
        guard state.device.customerID == customer else {
            throw Perennial.Failure(
                .customerChanged,
                remedy: "Another customer has signed in. Nothing was done: ask again.")
        }
    }

    private func buyNow(
        _ product: Perennial.ProductID, _ options: Perennial.PurchaseOptions,
        for buyer: Buyer, anchor: PurchaseAnchor?
    ) async throws(Perennial.Failure) -> Perennial.Purchase {
        let storeOptions = try await makeOptions(product, options)
        try checkStays(buyer.id)
        let sheet = PaymentSheet(
            product: product, buyer: buyer, placement: options.placement,
            known: Set(state.device.storeEvidence.transactions.keys), shownAt: now)
        let result: StorePurchaseResult
        do {
            result = try await store.purchase(product.rawValue, storeOptions, anchor: anchor)
        } catch {
            if error == .cancelled { return await makePurchase(.cancelled, product) }
            var failure = Perennial.Failure(error)
            if case .failed = error { failure.charged = .unclear }
            throw failure
        }
        return try await receive(result, of: sheet)
    }

    /// Records the result of a purchase: saves it in the outbox, posts it, and only then finishes
    /// the transaction.
    private func receive(
        _ document: StoreDocument, of sheet: PaymentSheet
    ) async throws(Perennial.Failure) -> Perennial.Purchase {
        guard document.isVerified, let payload = TransactionPayload(document) else {
            await collect(
                [document], intent: .purchase, for: sheet.buyer, at: sheet.placement)
            await post(isAwaited: true)
            throw Perennial.Failure(
                .purchaseNotVerified,
                remedy: "StoreKit could not verify the transaction. It was reported to the server.",
                charged: .unclear)
        }
        if configuration.role == .seller {
            purchasing.recordTransaction(payload.transactionId)
        }
        posting.beginPosting(document.jws)
        await collect(
            [document], intent: .purchase, isHeld: true, for: sheet.buyer, at: sheet.placement)
        state.waiting.removeAll { $0.product == sheet.product && $0.reason == .approval }
        await publish()
        let isKept = await postAtOnce(document, for: payload, of: sheet)
        posting.finishPosting(document.jws)
        guard state.device.customerID == sheet.buyer.id else {
            throw Perennial.Failure(
                .customerChanged,
                remedy: "Another customer signed in while the sheet was shown. "
                    + "The purchase belongs to the customer who saw it.",
                charged: .yes)
        }
        // Other waiting entries are posted in the background: this call does not wait for them.
        let outcome = try sheet.outcome(
            of: payload, verdict(on: payload.originalTransactionId))
        var purchase = await makePurchase(outcome, sheet.product)
        purchase.transactionID = payload.transactionId
        purchase.isKeptByServer = isKept
        return purchase
    }

    /// Posts one document before all other waiting entries. Returns whether the server has recorded
    /// it.
    private func postAtOnce(
        _ document: StoreDocument, for payload: TransactionPayload, of sheet: PaymentSheet
    ) async -> Bool {
        guard mayPost, session.silence(at: clock.monotonic()) == 0 else { return false }
        if state.offerings == nil { await fetchOfferings(within: configuration.patience) }
        var entries = (await outbox?.entries ?? []).filter {
            guard case .document(let waiting) = $0.content else { return false }
            return waiting.text == document.jws
        }
        if entries.isEmpty, !isAcknowledged(payload), outbox?.isWriter == true,
            let id = sheet.buyer.id
        {
            // The outbox had no room for the document.
            entries = [
                OutboxEntry(
                    document, payload, .purchase, for: id, at: sheet.placement, firstSeen: now)
            ]
        }
        guard !entries.isEmpty else { return isAcknowledged(payload) }
        do {
            try await postDocuments(entries, within: configuration.patience)
        } catch {
            let next = now.milliseconds + max(retryWait, RetryPauses.min)
            try? await outbox?.postpone(
                entries.map(\.id), until: Timestamp(milliseconds: next))
            return false
        }
        return isAcknowledged(payload)
    }

    private func isAcknowledged(_ payload: TransactionPayload) -> Bool {
        state.device.storeEvidence.transactions[payload.transactionId]?.isAcknowledged ?? false
    }

    /// Records a purchase that Apple's views or the app's own code made.
    func receive(
        _ result: StorePurchaseResult, for product: Perennial.ProductID
    ) async throws(Perennial.Failure) -> Perennial.Purchase {
        await open()
        let sheet = PaymentSheet(
            product: product, buyer: buyer,
            known: Set(state.device.storeEvidence.transactions.keys),
            shownAt: now)
        return try await receive(result, of: sheet)
    }

    private func receive(
        _ result: StorePurchaseResult, of sheet: PaymentSheet
    ) async throws(Perennial.Failure) -> Perennial.Purchase {
        switch result {
        case .bought(let document):
            return try await receive(document, of: sheet)
        case .pending:
            recordWaiting(.approval, sheet.product)
            await publish()
            return await makePurchase(.pending, sheet.product)
        case .cancelled: return await makePurchase(.cancelled, sheet.product)
        case .unknown:
            throw Perennial.Failure(
                .purchaseResultUnknown,
                remedy: "If it was paid, the transaction arrives later. Update Perennial.",
                charged: .unclear)
        }
    }

    /// Records the receipt of an app that uses StoreKit 1. Returns when the server has recorded it.
    func receive(
        appReceipt: Data, because intent: Perennial.Intent
    ) async throws(Perennial.Failure) {
        await open()
        guard let id = state.device.customerID else {
            throw Perennial.Failure(.customerMissing, remedy: "Call `identify` first.")
        }
        let entry = OutboxEntry(
            .document(
                OutboxEntry.Document(
                    kind: .receipt, text: appReceipt.base64EncodedString(),
                    intent: .init(rawValue: intent.rawValue))),
            for: id, firstSeen: now)
        _ = try? await outbox?.add([entry])
        await recordUnsent()
        await publish()
        do {
            try await postDocuments([entry], within: configuration.patience)
        } catch {
            throw error.failure
        }
        await recordUnsent()
        await publish()
    }

    func makePurchase(
        _ outcome: Perennial.Purchase.Outcome, _ product: Perennial.ProductID
    ) async -> Perennial.Purchase {
        // The call is needed, because `post` publishes nothing if another call of `post` is
        // running.
        await recordWaiting()
        return Perennial.Purchase(
            outcome: outcome, product: product, snapshot: await publish())
    }

    func recordWaiting(_ reason: Perennial.WaitingPurchase.Reason, _ product: Perennial.ProductID) {
        guard !state.waiting.contains(where: { $0.product == product && $0.reason == reason })
        else { return }
        state.waiting.append(
            Perennial.WaitingPurchase(product: product, reason: reason, since: now.date))
    }
}

// MARK: - Before the sheet

extension Engine {
    /// The purchase options for StoreKit: the account token, and the signature of an offer.
    private func makeOptions(
        _ product: Perennial.ProductID, _ options: Perennial.PurchaseOptions
    ) async throws(Perennial.Failure) -> StorePurchaseOptions {
        var made = StorePurchaseOptions()
        made.quantity = options.quantity
        made.seats = options.seats
        made.plan = options.plan?.kind
        made.custom = CustomOptions(options.storeOptions)
        made.accountToken = await accountToken()
        switch options.offer?.kind {
        case .promotional?: made.offer = try await sign(options.offer, of: product)
        case .introductory?: made.offer = try await signIntroductory(of: product)
        case .winBack?: made.offer = .winBack(id: options.offer?.id ?? "")
        default: break
        }
        return made
    }

    /// The `appAccountToken` of purchases. With this token, the server assigns a purchase to the
    /// customer even if the app is killed before it can post the purchase. Nil if the server cannot
    /// be asked.
    private func accountToken() async -> String? {
        if let token = state.device.accountToken { return token }
        guard let id = state.device.customerID, mayPost,
            session.silence(at: clock.monotonic()) == 0
        else { return nil }
        let request = ServerRequest(
            method: "POST", path: "\(Paths.customer(id))/account_token", body: Data("{}".utf8),
            customer: id, timeout: configuration.patience / 2)
        guard let answer = try? await send(request),
            let token = try? answer.decode(AccountToken.self), state.device.customerID == id
        else { return nil }
        state.device.accountToken = token.accountToken
        return token.accountToken
    }
}

extension Perennial.Failure {
    package init(_ error: StoreError) {
        switch error {
        case .cancelled:
            self.init(.storeFailed, remedy: "The customer cancelled.")
        case .unreachable:
            self.init(
                .storeUnreachable, remedy: "The App Store cannot be reached. Try again later.",
                isTemporary: true)
        case .productUnavailable, .notInStorefront:
            self.init(
                .productUnknown,
                remedy: "The App Store does not sell this product here. Check its id and state.")
        case .notAllowed:
            self.init(
                .purchaseNotAllowed, remedy: "Purchases are switched off on this device.")
        case .offerNotAccepted(let part):
            self.init(
                .offerNotAccepted, remedy: "The App Store did not accept the offer (\(part)).")
        case .seatsNotSold:
            self.init(
                .seatsNotSold,
                remedy:
                    "Ask the product's `isSoldInSeats` first. It needs iOS 27.3 or macOS 27.3, an "
                    + "app built for them, and seats for this product in App Store Connect."
            )
        case .seatReduction:
            self.init(
                .seatReductionNotAllowed,
                remedy: "The purchaser gives seats up in the App Store, for the next period: show "
                    + "`Perennial.ManageButton`.")
        case .failed(let type):
            self.init(
                .storeFailed, remedy: "StoreKit failed (\(type)). Try again later.",
                isTemporary: true)
        }
    }
}
