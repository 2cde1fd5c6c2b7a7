import AppStoreFormats

/// Lists of a customer's transactions: all, the refunded ones, and those of an order.
enum HistoryEndpoints {
    /// Maximum number of refunds in a version 1 response, which has no pages.
    static let oldRefundsMax = 50

    static let all = [
        APIEndpoint(.get, "v2/history/{id}", perSecond: 50) { simulator, call in
            try simulator.history(call, withFinishedConsumables: true)
        },
        APIEndpoint(.get, "v1/history/{id}", perSecond: 50) { simulator, call in
            try simulator.history(call, withFinishedConsumables: false)
        },
        APIEndpoint(.get, "v2/refund/lookup/{id}", perSecond: 10) { simulator, call in
            try simulator.refunds(call)
        },
        APIEndpoint(.get, "v1/refund/lookup/{id}", perSecond: 10) { simulator, call in
            try simulator.firstRefunds(call)
        },
        APIEndpoint(
            .get, "v1/lookup/{id}", perSecond: 10, place: .productionOnly
        ) { simulator, call in
            try simulator.order(call)
        },
    ]
}

extension AppStoreSimulator {
    fileprivate func history(
        _ call: APICall, withFinishedConsumables: Bool
    ) throws -> APIAnswer {
        let query = try HistoryQuery(call)
        let account = try world.account(ofAny: call.parameter("id"), in: call.environment)
        let placed = place(transactionsOf: account).filter { transaction in
            let payload = transaction.payload
            return query.includes(payload)
                && (withFinishedConsumables || !isFinishedConsumable(payload))
        }
        let page = TransactionPage(
            placed, after: query.revision, isDescending: query.isDescending,
            length: Self.pageLength)
        return try .ok(
            paging(page) + appMembers(call.environment) + [signedTransactions(page.transactions)])
    }

    /// Version 1 lists consumables only until the app has finished them.
    private func isFinishedConsumable(_ payload: TransactionPayload) -> Bool {
        payload.type == .consumable && payload.revocationDate == nil
            && payload.transactionId.map(world.finished.contains) ?? false
    }

    fileprivate func refunds(_ call: APICall) throws -> APIAnswer {
        let revision = try call.revision()
        let account = try world.account(ofAny: call.parameter("id"), in: call.environment)
        let page = TransactionPage(
            refunds(of: account), after: revision, isDescending: false, length: Self.pageLength)
        return try .ok([signedTransactions(page.transactions)] + paging(page))
    }

    fileprivate func firstRefunds(_ call: APICall) throws -> APIAnswer {
        let original = try world.original(call.parameter("id"), in: call.environment)
        let page = TransactionPage(
            refunds(of: original.account), after: nil, isDescending: false,
            length: HistoryEndpoints.oldRefundsMax)
        return try .ok([signedTransactions(page.transactions)])
    }

    /// Refunds, in order of refund. Periods replaced by an upgrade, and purchases that a family no
    /// longer shares, were not refunded to the customer.
    private func refunds(of account: Account.Key) -> [PlacedTransaction] {
        place(transactionsOf: account).compactMap { transaction in
            let payload = transaction.payload
            guard let refunded = payload.revocationDate, payload.isUpgraded != true,
                payload.revocationType != .familyRevoke
            else { return nil }
            let place = Revision(
                moment: refunded.milliseconds, number: transaction.place.moment)
            return PlacedTransaction(place: place, payload: payload)
        }
    }

    fileprivate func order(_ call: APICall) throws -> APIAnswer {
        guard let id = OrderID.transactionID(call.parameter("id")) else {
            throw APIError.badRequest
        }
        guard let transaction = try? world.transaction(id, in: call.environment) else {
            return .ok([.init("status", 1)])
        }
        let payload = world.payload(of: transaction, at: clock.now)
        return try .ok([.init("status", 0), signedTransactions([payload])])
    }

    private func place(transactionsOf account: Account.Key) -> [PlacedTransaction] {
        api.modifications.place(world.payloads(of: account, at: clock.now), of: account)
    }

    private func paging(_ page: TransactionPage) -> [JSON.Member] {
        [
            .init("revision", .string(page.revision.text)), .init("hasMore", .bool(page.hasMore)),
        ]
    }

    private func signedTransactions(
        _ payloads: [TransactionPayload]
    ) throws(SigningFailure) -> JSON.Member {
        var signed: [JSON] = []
        for payload in payloads { signed.append(try sign(payload)) }
        return JSON.Member("signedTransactions", .array(signed))
    }
}
