import AppStoreFormats
import Foundation

/// The Advanced Commerce API, version 1. Developers change subscriptions whose products they manage
/// themselves. A migration turns a subscription of the shop into such a subscription.
enum AdvancedCommerceEndpoints {
    static let root = "advancedCommerce"

    static let all = [
        endpoint("subscription/migrate/{id}") { simulator, call, body in
            let change = AdvancedCommerceChange(
                .migration, displayName: try body.displayName(), description: try body.text())
            return try await apply(call, .advancedCommerce(change), in: simulator)
        },
        endpoint("subscription/changeMetadata/{id}") { simulator, call, body in
            let change = AdvancedCommerceChange(
                .metadataUpdate, displayName: try body.displayName(),
                description: try body.text())
            return try await apply(call, .advancedCommerce(change), in: simulator)
        },
        endpoint("subscription/changePrice/{id}") { simulator, call, body in
            let change = AdvancedCommerceChange(.priceChange, price: try body.price())
            return try await apply(call, .advancedCommerce(change), in: simulator)
        },
        endpoint("subscription/cancel/{id}") { simulator, call, _ in
            try await apply(call, .cancel, in: simulator)
        },
        endpoint("subscription/revoke/{id}") { simulator, call, body in
            let order = RefundOrder(try body.share(of: body.json["refundType"]))
            return try await apply(call, .refund(order), in: simulator)
        },
        endpoint("transaction/requestRefund/{id}") { simulator, call, body in
            try await requestRefund(call, body, in: simulator)
        },
    ]

    private static func endpoint(
        _ path: String,
        _ answer:
            @escaping @Sendable (
                isolated AppStoreSimulator, APICall, AdvancedCommerceBody
            ) async throws -> APIResponse
    ) -> APIEndpoint {
        // Apple publishes no rate limit for these calls.
        var endpoint = APIEndpoint(.post, "v1/" + path, perSecond: nil) { simulator, call in
            try await answer(simulator, call, body(of: call, in: simulator))
        }
        endpoint.root = root
        return endpoint
    }
}

/// The body of an Advanced Commerce request, with the fields that the simulator needs.
struct AdvancedCommerceBody: Sendable {
    static let displayNameLengthMax = 30
    static let descriptionLengthMax = 45
    /// Maximum number of request ids stored in one world.
    static let referencesMax = 100_000

    let json: JSON
    /// The developer's id of the request. A request with an id that was used before is refused.
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

    /// The first item of the body. A simulated subscription has one item.
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
        return .prorated(RefundPercentage.share(of: amount, in: price))
    }

    /// Whether the request tells Apple to decline the refund. Apple documents this reason for
    /// tests.
    var isToBeDeclined: Bool { part?["refundReason"] == "SIMULATE_REFUND_DECLINE" }
}

extension AdvancedCommerceEndpoints {
    private static func body(
        of call: APICall, in simulator: isolated AppStoreSimulator
    ) throws(APIError) -> AdvancedCommerceBody {
        let body = try AdvancedCommerceBody(call.body())
        guard !simulator.api.references.contains(body.reference) else {
            throw .repeatedRequestReferenceID
        }
        _ = try simulator.world.transaction(call.parameter("id"), in: call.environment)
        guard simulator.api.references.count < AdvancedCommerceBody.referencesMax else {
            throw .generalInternal
        }
        simulator.api.references.insert(body.reference)
        return body
    }

    private static func apply(
        _ call: APICall, _ act: SubscriptionAct, in simulator: isolated AppStoreSimulator
    ) async throws -> APIResponse {
        let id = try simulator.world.transaction(call.parameter("id"), in: call.environment)
            .originalID
        guard simulator.world.subscriptions[id] != nil else { throw APIError.invalidTransactionID }
        do {
            _ = try await simulator.perform { world, now throws(SimulatorProblem) in
                ((), try world.apply(act, to: id, at: now))
            }
        } catch let problem as SimulatorProblem where problem.status < 500 {
            simulator.appendToLog(.refusedChange, [("reason", .string(problem.description))])
            throw APIError.badRequest
        }
        return try documents(of: id, in: simulator)
    }

    private static func requestRefund(
        _ call: APICall, _ body: AdvancedCommerceBody, in simulator: isolated AppStoreSimulator
    ) async throws -> APIResponse {
        let transaction = try simulator.world.transaction(
            call.parameter("id"), in: call.environment)
        let act: TransactionAct
        if body.isToBeDeclined {
            act = .requestRefund(.other, .declined)
        } else {
            act = .refund(RefundOrder(try body.share(of: transaction.price)))
        }
        do {
            _ = try await simulator.perform { world, now throws(SimulatorProblem) in
                ((), try world.apply(act, toTransaction: transaction.id, at: now))
            }
        } catch let problem as SimulatorProblem where problem.status < 500 {
            simulator.appendToLog(.refusedChange, [("reason", .string(problem.description))])
            throw APIError.badRequest
        }
        let after = try simulator.world.transaction(transaction.id, in: call.environment)
        let payload = simulator.world.payload(of: after, at: simulator.clock.now)
        return .ok([.init("signedTransactionInfo", try simulator.sign(payload))])
    }

    private static func documents(
        of id: String, in simulator: isolated AppStoreSimulator
    ) throws -> APIResponse {
        let subscription = try simulator.world.subscription(id)
        let renewal = simulator.world.renewalPayload(of: subscription, at: simulator.clock.now)
        let transaction = simulator.world.payload(of: subscription.latest, at: simulator.clock.now)
        return try .ok([
            .init("signedRenewalInfo", simulator.sign(renewal)),
            .init("signedTransactionInfo", simulator.sign(transaction)),
        ])
    }
}
