import AppStoreFormats

/// Lists of a customer's transactions: all, the refunded ones, and those of an order.
enum HistoryEndpoints {
    /// Maximum number of refunds in a version 1 response, which has no pages.
    static let refundsV1Max = 50

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
            try simulator.refundsV1(call)
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
    ) throws -> APIResponse {
        let query = try HistoryQuery(call)
        let account = try world.account(ofAny: call.parameter("id"), in: call.environment)
        let placed = positioned(transactionsOf: account).filter { transaction in
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

    fileprivate func refunds(_ call: APICall) throws -> APIResponse {
        let revision = try call.revision()
        let account = try world.account(ofAny: call.parameter("id"), in: call.environment)
        let page = TransactionPage(
            refunds(of: account), after: revision, isDescending: false, length: Self.pageLength)
        return try .ok([signedTransactions(page.transactions)] + paging(page))
    }

    fileprivate func refundsV1(_ call: APICall) throws -> APIResponse {
        let original = try world.original(call.parameter("id"), in: call.environment)
        let page = TransactionPage(
            refunds(of: original.account), after: nil, isDescending: false,
            length: HistoryEndpoints.refundsV1Max)
        return try .ok([signedTransactions(page.transactions)])
    }

    /// Refunds, in order of refund. Periods replaced by an upgrade, and purchases that a family no
    /// longer shares, were not refunded to the customer.
    private func refunds(of account: Account.Key) -> [PositionedTransaction] {
        positioned(transactionsOf: account).compactMap { transaction in
            let payload = transaction.payload
            guard let refunded = payload.revocationDate, payload.isUpgraded != true,
                ![.familyRevoke, .assignmentRevoke].contains(payload.revocationType)
            else { return nil }
            let place = Revision(
                moment: refunded.milliseconds, number: transaction.position.moment)
            return PositionedTransaction(position: place, payload: payload)
        }
    }

    fileprivate func order(_ call: APICall) throws -> APIResponse {
        guard let id = OrderID.transactionID(call.parameter("id")) else {
            throw APIError.badRequest
        }
        guard let transaction = try? world.transaction(id, in: call.environment) else {
            return .ok([.init("status", 1)])
        }
        let payload = world.payload(of: transaction, at: clock.now)
        return try .ok([.init("status", 0), signedTransactions([payload])])
    }

    private func positioned(transactionsOf account: Account.Key) -> [PositionedTransaction] {
        api.changes.positioned(world.payloads(of: account, at: clock.now), of: account)
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
