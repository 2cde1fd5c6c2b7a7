internal import Foundation
internal import PerennialContract

// MARK: - Wallets and content

extension Engine {
    /// Spends an amount. Idempotent by key.
    func spend(
        _ amount: Int, from wallet: Perennial.WalletID, for reason: String, key: UUID
    ) async throws(Perennial.Failure) -> Perennial.Wallet {
        await open()
        guard amount > 0 else {
            throw Perennial.Failure(
                "amount_not_positive", remedy: "Spend an amount of at least 1.")
        }
        guard let id = state.device.customerID else {
            throw Perennial.Failure(.customerMissing, remedy: "Call `identify` first.")
        }
        let debit = OutboxEntry.Debit(
            wallet: wallet.rawValue, amount: Int64(amount), reason: reason,
            key: key.uuidString.lowercased())
        let entry = OutboxEntry(.debit(debit), for: id, firstSeen: now)
        let addition: Outbox.Addition?
        do {
            addition = try await outbox?.add([entry]).first
        } catch {
            throw Perennial.Failure(.readOnly, remedy: "Only the app can spend: \(error).")
        }
        do {
            try await postDebit(debit, entry, within: configuration.patience)
        } catch {
            // A debit that could not be saved is not sent later.
            guard addition == .added || addition == .present else { throw error.failure }
            // A debit that already waits was allowed when it was saved.
            guard addition == .present, !error.isRefusal else {
                try await postponeOrRefuse(error, entry, debit)
                return await publishWallet(wallet)
            }
        }
        return await publishWallet(wallet)
    }

    private func publishWallet(_ wallet: Perennial.WalletID) async -> Perennial.Wallet {
        state.unconfirmedDebits = await waitingDebits()
        await publish()
        return publisher.snapshot[wallet: wallet]
    }

    /// Saves a debit for later if the customer may spend the amount without the server. Otherwise
    /// throws the error.
    private func postponeOrRefuse(
        _ error: ServerError, _ entry: OutboxEntry, _ debit: OutboxEntry.Debit
    ) async throws(Perennial.Failure) {
        let limit = state.offerings?.wallets[debit.wallet]?.maxOffline ?? 0
        let balance = state.answer?.wallets[debit.wallet]?.balance ?? 0
        let waiting =
            await outbox?.waitingDebits(from: debit.wallet, of: entry.customerID) ?? 0
        if error.failure.isTemporary, waiting <= limit, waiting <= balance { return }
        await complete([entry.id])
        throw error.failure
    }

    func postDebit(
        _ debit: OutboxEntry.Debit, _ entry: OutboxEntry, within timeout: TimeInterval,
        isAwaited: Bool = true
    ) async throws(ServerError) {
        var request = ServerRequest.post(
            Paths.debits(debit.wallet, of: entry.customerID),
            DebitRequest(amount: debit.amount, reason: debit.reason), query: environmentQuery,
            for: entry.customerID, within: timeout)
        request.headers["Idempotency-Key"] = debit.key
        do {
            let answer = try await send(request, isAwaited: isAwaited).decode(Debit.self)
            await complete([entry.id])
            let waiting = await waitingDebits()
            guard state.device.customerID == entry.customerID else { return }
            // Both values change in one step. Otherwise a snapshot in between would deduct the
            // amount twice.
            state.answer?.wallets[debit.wallet] = PerennialContract.Wallet(
                balance: answer.balance)
            state.unconfirmedDebits = waiting
            session.recordUntagged()
        } catch {
            // Any other failure leaves the debit in the outbox, because the app may have been told
            // that the amount is spent.
            if error.isRefusal { await complete([entry.id]) }
            throw error
        }
    }

    /// The amounts that were spent and wait for the server, by currency.
    func waitingDebits() async -> [String: Int64] {
        var sums: [String: Int64] = [:]
        for entry in await outbox?.entries ?? []
        where entry.customerID == state.device.customerID {
            guard case .debit(let debit) = entry.content else { continue }
            sums[debit.wallet, default: 0] += debit.amount
        }
        return sums
    }

    func content() async throws(Perennial.Failure) -> [Perennial.Publication] {
        try await contentList().map(Perennial.Publication.init)
    }

    func link(to id: String) async throws(Perennial.Failure) -> URL {
        guard let item = try await contentList().first(where: { $0.contentID == id }) else {
            throw Perennial.Failure(
                "content_unknown", remedy: "There is no such content, or it is not published yet.")
        }
        let base = configuration.server.absoluteString
        guard let path = item.url, let url = URL(string: path, relativeTo: URL(string: base)) else {
            throw Perennial.Failure("content_not_available", remedy: item.reason)
        }
        return url.absoluteURL
    }

    private func contentList() async throws(Perennial.Failure) -> [Content] {
        await open()
        guard let id = state.device.customerID else {
            throw Perennial.Failure(.customerMissing, remedy: "Call `identify` first.")
        }
        do {
            return try await send(
                .get(
                    Paths.content(of: id), query: environmentQuery, for: id,
                    within: configuration.patience)
            ).decode(ContentList.self).items
        } catch {
            throw error.failure
        }
    }

    /// Tells the server whether, after a refund request, the App Store may learn how much the
    /// customer used.
    func setRefundConsent(_ consents: Bool) async throws(Perennial.Failure) {
        await open()
        guard let id = state.device.customerID else {
            throw Perennial.Failure(.customerMissing, remedy: "Call `identify` first.")
        }
        do {
            _ = try await send(
                ServerRequest(
                    method: "PUT", path: "\(Paths.customer(id))/consumption",
                    query: environmentQuery, body: Data("{\"consent\":\(consents)}".utf8),
                    customer: id, timeout: configuration.patience))
        } catch {
            throw error.failure
        }
    }
}

extension Perennial.Publication {
    fileprivate init(_ content: Content) {
        self.init(
            id: content.contentID, title: content.title, published: content.publishedAt.date,
            isReadable: content.readable, reason: content.reason,
            products: content.productIDs.map(Perennial.ProductID.init(rawValue:)))
    }
}
