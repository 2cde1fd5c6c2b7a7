import AppStoreFormats
import Foundation

/// The Advanced Commerce API, version 1: developers' changes of subscriptions whose products they
/// manage themselves. A subscription of the shop becomes one by migration.
enum AdvancedCommerceEndpoints {
    static let root = "advancedCommerce"

    static let all = [
        endpoint("subscription/migrate/{id}") { simulator, call, body in
            let change = AdvancedCommerceChange(
                .migration, displayName: try body.displayName(), description: try body.text())
            return try await simulator.change(call, .advancedCommerce(change))
        },
        endpoint("subscription/changeMetadata/{id}") { simulator, call, body in
            let change = AdvancedCommerceChange(
                .metadataUpdate, displayName: try body.displayName(),
                description: try body.text())
            return try await simulator.change(call, .advancedCommerce(change))
        },
        endpoint("subscription/changePrice/{id}") { simulator, call, body in
            let change = AdvancedCommerceChange(.priceChange, price: try body.price())
            return try await simulator.change(call, .advancedCommerce(change))
        },
        endpoint("subscription/cancel/{id}") { simulator, call, _ in
            try await simulator.change(call, .cancel)
        },
        endpoint("subscription/revoke/{id}") { simulator, call, body in
            let order = RefundOrder(try body.share(of: body.json["refundType"]))
            return try await simulator.change(call, .refund(order))
        },
        endpoint("transaction/requestRefund/{id}") { simulator, call, body in
            try await simulator.requestRefund(call, body)
        },
    ]

    private static func endpoint(
        _ path: String,
        _ answer:
            @escaping @Sendable (
                isolated AppStoreSimulator, APICall, AdvancedCommerceBody
            ) async throws -> APIResponse
    ) -> APIEndpoint {
        // Apple publishes no rate limit for these.
        var endpoint = APIEndpoint(.post, "v1/" + path, perSecond: nil) { simulator, call in
            try await answer(simulator, call, simulator.body(of: call))
        }
        endpoint.root = root
        return endpoint
    }
}

/// The body of an Advanced Commerce request, as far as it is relevant here.
struct AdvancedCommerceBody: Sendable {
    static let displayNameLengthMax = 30
    static let descriptionLengthMax = 45
    /// Maximum number of request ids stored in one world.
    static let referencesMax = 100_000

    let json: JSON
    /// The developer's id of the request. A repeated id is refused.
    let reference: String

    init(_ json: JSON) throws(APIError) {
        guard let about = json["requestInfo"], about.members != nil else {
            throw .nullRequestInfo
        }
        guard let text = about["requestReferenceId"]?.string else {
            throw .nullRequestReferenceID
        }
        guard let uuid = UUID(uuidString: text) else { throw .invalidRequestReferenceID }
        self.json = json
        reference = uuid.uuidString.lowercased()
    }

    /// The first item. A simulated subscription has one.
    private var part: JSON? { json["items"]?.array?.first }

    func displayName() throws(APIError) -> String? {
        let name = (json["descriptors"]?["displayName"] ?? part?["displayName"])?.string
        guard name?.count ?? 0 <= Self.displayNameLengthMax else { throw .displayNameTooLong }
        return name
    }

    func text() throws(APIError) -> String? {
        let text = (json["descriptors"]?["description"] ?? part?["description"])?.string
        guard text?.count ?? 0 <= Self.descriptionLengthMax else { throw .descriptionTooLong }
        return text
    }

    func price() throws(APIError) -> Int64 {
        guard let part else { throw .nullItems }
        guard let price = part["price"]?.integer else { throw .nullPrice }
        guard price >= 0 else { throw .negativePrice }
        return price
    }

    func share(of type: JSON?) throws(APIError) -> RefundOrder.Share {
        switch type {
        case "FULL"?: return .whole
        case "PRORATED"?: return .prorated(nil)
        default: throw .badRequest
        }
    }

    /// The share of a transaction that is refunded: all, the unused part, or an amount.
    func share(of price: Int64) throws(APIError) -> RefundOrder.Share {
        guard let part else { throw .nullItems }
        guard part["refundType"] == "CUSTOM" else { return try share(of: part["refundType"]) }
        guard let amount = part["refundAmount"]?.integer, price > 0, (1...price).contains(amount)
        else { throw .badRequest }
        return .prorated(World.percentage(of: amount, in: price))
    }

    /// Apple's reason for testing a declined refund.
    var isToBeDeclined: Bool { part?["refundReason"] == "SIMULATE_REFUND_DECLINE" }
}

extension AppStoreSimulator {
    fileprivate func body(of call: APICall) throws(APIError) -> AdvancedCommerceBody {
        let body = try AdvancedCommerceBody(call.body())
        guard !api.references.contains(body.reference) else { throw .repeatedRequestReferenceID }
        _ = try world.transaction(call.parameter("id"), in: call.environment)
        guard api.references.count < AdvancedCommerceBody.referencesMax else {
            throw .generalInternal
        }
        api.references.insert(body.reference)
        return body
    }

    fileprivate func change(_ call: APICall, _ act: SubscriptionAct) async throws -> APIResponse {
        let id = try world.transaction(call.parameter("id"), in: call.environment).originalID
        guard world.subscriptions[id] != nil else { throw APIError.invalidTransactionID }
        do {
            _ = try await perform { world, now throws(SimulatorProblem) in
                ((), try world.apply(act, to: id, at: now))
            }
        } catch let problem as SimulatorProblem where problem.status < 500 {
            appendToLog(.refusedChange, [("reason", .string(problem.description))])
            throw APIError.badRequest
        }
        return try documents(of: id)
    }

    fileprivate func requestRefund(
        _ call: APICall, _ body: AdvancedCommerceBody
    ) async throws -> APIResponse {
        let transaction = try world.transaction(call.parameter("id"), in: call.environment)
        let act: TransactionAct
        if body.isToBeDeclined {
            act = .requestRefund(.other, .declined)
        } else {
            act = .refund(RefundOrder(try body.share(of: transaction.price)))
        }
        do {
            _ = try await perform { world, now throws(SimulatorProblem) in
                ((), try world.apply(act, toTransaction: transaction.id, at: now))
            }
        } catch let problem as SimulatorProblem where problem.status < 500 {
            appendToLog(.refusedChange, [("reason", .string(problem.description))])
            throw APIError.badRequest
        }
        let after = try world.transaction(transaction.id, in: call.environment)
        let payload = world.payload(of: after, at: clock.now)
        return .ok([.init("signedTransactionInfo", try sign(payload))])
    }

    private func documents(of id: String) throws -> APIResponse {
        let subscription = try world.subscription(id)
        let renewal = world.renewalPayload(of: subscription, at: clock.now)
        let transaction = world.payload(of: subscription.latest, at: clock.now)
        return try .ok([
            .init("signedRenewalInfo", sign(renewal)),
            .init("signedTransactionInfo", sign(transaction)),
        ])
    }
}
