import AppStoreFormats

/// Lists of a customer's transactions: all of them, the refunded ones, and those of an order.
enum HistoryEndpoints {
    /// Maximum number of refunds in a version 1 response, which has no pages.
    static let refundsV1Max = 50

    static let all = [
        APIEndpoint(.get, "v2/history/{id}", perSecond: 50) { simulator, call in
            try history(call, withFinishedConsumables: true, in: simulator)
        },
        APIEndpoint(.get, "v1/history/{id}", perSecond: 50) { simulator, call in
            try history(call, withFinishedConsumables: false, in: simulator)
        },
        APIEndpoint(.get, "v2/refund/lookup/{id}", perSecond: 10) { simulator, call in
            try refunds(call, in: simulator)
        },
        APIEndpoint(.get, "v1/refund/lookup/{id}", perSecond: 10) { simulator, call in
            try refundsV1(call, in: simulator)
        },
        APIEndpoint(
            .get, "v1/lookup/{id}", perSecond: 10, place: .productionOnly
        ) { simulator, call in
            try order(call, in: simulator)
        },
    ]
}

extension HistoryEndpoints {
    private static func history(
        _ call: APICall, withFinishedConsumables: Bool, in simulator: isolated AppStoreSimulator
    ) throws -> APIResponse {
        let query = try HistoryQuery(call)
        let account = try simulator.world.account(ofAny: call.parameter("id"), in: call.environment)
        let placed = positioned(transactionsOf: account, in: simulator).filter { transaction in
            let payload = transaction.payload
            return query.includes(payload)
                && (withFinishedConsumables || !isFinishedConsumable(payload, in: simulator))
        }
        let page = TransactionPage(
            placed, after: query.revision, isDescending: query.isDescending,
            length: AppStoreSimulator.pageLength)
        return try .ok(
            paging(page) + simulator.appMembers(call.environment) + [
                signedTransactions(page.transactions, in: simulator)
            ])
    }

    /// Whether a transaction is a consumable that the app has finished. Version 1 does not list
    /// these.
    private static func isFinishedConsumable(
        _ payload: TransactionPayload, in simulator: isolated AppStoreSimulator
    ) -> Bool {
        payload.type == .consumable && payload.revocationDate == nil
            && payload.transactionId.map(simulator.world.finished.contains) ?? false
    }

    private static func refunds(
        _ call: APICall, in simulator: isolated AppStoreSimulator
    ) throws -> APIResponse {
        let revision = try call.revision()
        let account = try simulator.world.account(ofAny: call.parameter("id"), in: call.environment)
        let page = TransactionPage(
            refunds(of: account, in: simulator), after: revision, isDescending: false,
            length: AppStoreSimulator.pageLength)
        return try .ok([signedTransactions(page.transactions, in: simulator)] + paging(page))
    }

    private static func refundsV1(
        _ call: APICall, in simulator: isolated AppStoreSimulator
    ) throws -> APIResponse {
        let original = try simulator.world.original(call.parameter("id"), in: call.environment)
        let page = TransactionPage(
            refunds(of: original.account, in: simulator), after: nil, isDescending: false,
            length: HistoryEndpoints.refundsV1Max)
        return try .ok([signedTransactions(page.transactions, in: simulator)])
    }

    /// The refunded transactions, in order of refund. Leaves out periods replaced by an upgrade,
    /// and purchases that a family no longer shares: they were not refunded to the customer.
    private static func refunds(
        of account: Account.Key, in simulator: isolated AppStoreSimulator
    ) -> [PositionedTransaction] {
        positioned(transactionsOf: account, in: simulator).compactMap { transaction in
            let payload = transaction.payload
            guard let refunded = payload.revocationDate, payload.isUpgraded != true,
                ![.familyRevoke, .assignmentRevoke].contains(payload.revocationType)
            else { return nil }
            let place = Revision(
                moment: refunded.milliseconds, number: transaction.position.moment)
            return PositionedTransaction(position: place, payload: payload)
        }
    }

    private static func order(
        _ call: APICall, in simulator: isolated AppStoreSimulator
    ) throws -> APIResponse {
        guard let id = OrderID.transactionID(call.parameter("id")) else {
            throw APIError.badRequest
        }
        guard let transaction = try? simulator.world.transaction(id, in: call.environment) else {
            return .ok([.init("status", 1)])
        }
        let payload = simulator.world.payload(of: transaction, at: simulator.clock.now)
        return try .ok([.init("status", 0), signedTransactions([payload], in: simulator)])
    }

    private static func positioned(
        transactionsOf account: Account.Key, in simulator: isolated AppStoreSimulator
    ) -> [PositionedTransaction] {
        simulator.api.changes.positioned(
            simulator.world.payloads(of: account, at: simulator.clock.now), of: account)
    }

    private static func paging(_ page: TransactionPage) -> [JSON.Member] {
        [
            .init("revision", .string(page.revision.text)), .init("hasMore", .bool(page.hasMore)),
        ]
    }

    private static func signedTransactions(
        _ payloads: [TransactionPayload], in simulator: isolated AppStoreSimulator
    ) throws(SigningFailure) -> JSON.Member {
        var signed: [JSON] = []
        for payload in payloads { signed.append(try simulator.sign(payload)) }
        return JSON.Member("signedTransactions", .array(signed))
    }
}
