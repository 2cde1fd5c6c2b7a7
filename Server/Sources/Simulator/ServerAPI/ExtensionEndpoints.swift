import AppStoreFormats
import Foundation

/// Extensions of renewal dates, for one subscriber or for all subscribers of a product.
enum ExtensionEndpoints {
    static let all = [
        APIEndpoint(.post, "v1/subscriptions/extend/mass", perSecond: 1) { simulator, call in
            try await extendAll(call, in: simulator)
        },
        APIEndpoint(
            .get, "v1/subscriptions/extend/mass/{product}/{request}", perSecond: nil
        ) { simulator, call in
            try extensionStatus(call, in: simulator)
        },
        APIEndpoint(.put, "v1/subscriptions/extend/{id}", perSecond: 20) { simulator, call in
            try await extendOne(call, in: simulator)
        },
    ]
}

extension ExtensionOrder {
    /// Maximum number of characters of a request identifier.
    static let requestIDLengthMax = 128

    /// Validates a body as defined on the page "ExtendRenewalDateRequest".
    init(_ body: JSON) throws(APIError) {
        guard let days = body["extendByDays"]?.integer.flatMap({ Int(exactly: $0) }),
            Self.daysRange.contains(days)
        else { throw .invalidExtendByDays }
        guard let reason = body["extendReasonCode"]?.integer, Self.reasonRange.contains(reason)
        else { throw .invalidExtendReasonCode }
        guard let id = body["requestIdentifier"]?.string, !id.isEmpty,
            id.count <= Self.requestIDLengthMax
        else { throw .invalidRequestIdentifier }
        self.init(days: days, reason: reason, requestID: id)
    }
}

extension ExtensionEndpoints {
    private static func extendOne(
        _ call: APICall, in simulator: isolated AppStoreSimulator
    ) async throws -> APIResponse {
        let order = try ExtensionOrder(call.body())
        let original = try simulator.world.original(call.parameter("id"), in: call.environment)
        guard simulator.world.subscriptions[original.id] != nil else {
            throw APIError.extensionIneligible
        }
        let (answer, _) = try await performForAPI(in: simulator) {
            world, now throws(SimulatorProblem) in
            try world.extend(original.id, by: order, at: now)
        }
        let line = answer.webOrderLineItemID.map {
            [JSON.Member("webOrderLineItemId", .string($0))]
        }
        return .ok(
            [.init("originalTransactionId", .string(answer.originalTransactionID))]
                + (line ?? []) + [
                    .init("success", true), .init("effectiveDate", answer.effective.json),
                ])
    }

    /// Requests an extension for all subscribers. Idempotent: a repeated request gets the same
    /// response and does nothing.
    private static func extendAll(
        _ call: APICall, in simulator: isolated AppStoreSimulator
    ) async throws -> APIResponse {
        let body = try call.body()
        let order = try ExtensionOrder(body)
        guard UUID(uuidString: order.requestID) != nil else {
            throw APIError.invalidRequestIdentifier
        }
        let product = body["productId"]?.string ?? ""
        guard (try? simulator.world.product(product))?.subscription != nil else {
            throw APIError.invalidProductID
        }
        let wish = MassExtension(
            order, productID: product, storefronts: try Self.storefronts(body),
            environment: call.environment)
        _ = try await performForAPI(in: simulator) { world, now throws(SimulatorProblem) in
            try world.massExtend(wish, at: now)
            return ((), [])
        }
        return .ok([.init("requestIdentifier", .string(order.requestID))])
    }

    private static func storefronts(_ body: JSON) throws(APIError) -> [String]? {
        guard let list = body["storefrontCountryCodes"], list != .null else { return nil }
        guard let codes = list.array, !codes.isEmpty else { throw .emptyStorefrontList }
        var storefronts: [String] = []
        for code in codes {
            guard let country = code.string, Storefront.named(country) != nil else {
                throw .invalidStorefront
            }
            storefronts.append(country)
        }
        return storefronts
    }

    private static func extensionStatus(
        _ call: APICall, in simulator: isolated AppStoreSimulator
    ) throws -> APIResponse {
        let id = call.parameter("request")
        guard UUID(uuidString: id) != nil else { throw APIError.invalidRequestIdentifier }
        let key = MassExtension.Key(requestID: id, environment: call.environment)
        guard let wish = simulator.world.massExtensions[key],
            wish.productID == call.parameter("product")
        else { throw APIError.statusRequestNotFound }
        let identifier = JSON.Member("requestIdentifier", .string(id))
        guard let completed = wish.completed else {
            return .ok([identifier, .init("complete", false)])
        }
        return .ok([
            identifier, .init("complete", true), .init("completeDate", completed.json),
            .init("succeededCount", .integer(Int64(wish.succeeded))),
            .init("failedCount", .integer(Int64(wish.failed))),
        ])
    }

    /// Performs a change of the world and turns its refusals into Apple's errors.
    private static func performForAPI<Value: Sendable>(
        in simulator: isolated AppStoreSimulator,
        _ change: (inout World, AppStoreDate) throws(SimulatorProblem) -> (
            Value, [NotificationDraft]
        )
    ) async throws -> (Value, [NotificationDraft]) {
        do { return try await simulator.perform(change) } catch let problem as SimulatorProblem {
            switch problem.code {
            case "extension_limit": throw APIError.extensionsUsedUp
            case "extension_of_seat": throw APIError.assignedExtensionIneligible
            case "extension_of_family": throw APIError.familyExtensionIneligible
            case "extension_not_eligible": throw APIError.extensionIneligible
            default: throw problem
            }
        }
    }
}
