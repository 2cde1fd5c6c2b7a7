import AppStoreFormats
import Foundation
import HTTPTypes
import Hummingbird

// HTTP routes of the App Store Server API, and the control plane's routes about it.

extension AppStoreSimulator {
    /// Apple's paths: production at the root, the sandbox below a prefix, because there is only one
    /// host.
    private static let places: [(prefix: String, environment: SimulatedEnvironment)] = [
        ("", .production), ("/sandbox", .sandbox),
    ]

    nonisolated func addServerAPI(to router: Router<SimulatorContext>) {
        for (prefix, environment) in Self.places {
            for root in [APIEndpoint.inApps, APIEndpoint.groups, AdvancedCommerceEndpoints.root] {
                for method in [HTTPRequest.Method.get, .post, .put, .delete] {
                    let path = RouterPath("\(prefix)/\(root)/**")
                    router.on(path, method: method) { request, _ in
                        try await self.response(to: request, in: root, of: environment)
                    }
                }
            }
        }
    }

    private nonisolated func response(
        to request: Request, in root: String, of environment: SimulatedEnvironment
    ) async throws -> Response {
        let parts = request.uri.path.split(separator: "/")
            .map { $0.removingPercentEncoding ?? String($0) }
        let query = request.uri.queryParameters.map { (String($0.key), String($0.value)) }
        var call = APIRequest(
            environment: environment, method: request.method, root: root,
            path: Array(parts.drop { $0 != root }.dropFirst()), query: query,
            authorization: request.headers[.authorization], arrived: .machineNow)
        let limit = APIEndpoint.match(call)?.endpoint.bodyBytesMax ?? APIEndpoint.bodyBytesMax
        guard let buffer = try? await request.body.collect(upTo: limit) else {
            return Response(APIResponse(413))
        }
        call.body = [UInt8](buffer.readableBytesView)
        return Response(await process(call))
    }
}

extension AppStoreDate {
    /// The current time by the machine's clock.
    static var machineNow: Self {
        Self(milliseconds: Int64(Date().timeIntervalSince1970 * 1000))
    }
}

extension Response {
    fileprivate init(_ answer: APIResponse) {
        let bytes = answer.body?.bytes ?? []
        var headers = HTTPFields()
        // The type has no charset, because Apple's Python client reads an error's code only if the
        // type is exactly this one.
        if answer.body != nil { headers[.contentType] = "application/json" }
        headers[.contentLength] = String(bytes.count)
        if let retryAfter = answer.retryAfter {
            headers[.retryAfter] = String(retryAfter.milliseconds)
        }
        self.init(
            status: HTTPResponse.Status(code: answer.status), headers: headers,
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: bytes)))
    }
}

// MARK: - The control plane

extension SimulatorRoute {
    static let serverAPIRoutes = [
        get(
            "/_sim/api-key", "A well-known key for the App Store Server API.",
            gives: .json("APIKey")
        ) { simulator, _ in
            .json([
                "key_id": .string(APIKey.wellKnown.id),
                "issuer_id": .string(APIKey.wellKnown.issuerID),
                "bundle_id": .string(await simulator.settings.bundleID),
                "private_key": .string(APIKey.wellKnownPEM),
            ])
        },
        get(
            "/_sim/api-token", "A bearer token signed with that key, valid for an hour.",
            gives: .json("APIToken")
        ) { simulator, _ in
            let token = try APIKey.wellKnownToken(
                for: await simulator.settings.bundleID, at: .machineNow)
            return .json(["token": .string(token)])
        },
        get(
            "/_sim/transactions/{id}", "A transaction's ids, including its order id.",
            gives: .json("TransactionNumbers")
        ) { simulator, call in
            .json(try await simulator.numbers(of: call.parameter("id")))
        },
    ]
}

extension AppStoreSimulator {
    fileprivate func numbers(of id: String) throws -> JSON {
        for environment in [SimulatedEnvironment.production, .sandbox] {
            guard let found = try? world.transaction(id, in: environment) else { continue }
            let line = found.webOrderLineItemID.map { JSON.string($0) }
            return [
                "transaction_id": .string(found.id),
                "original_transaction_id": .string(found.originalID),
                "app_transaction_id": .string(
                    world.accounts[found.account]?.appTransactionID ?? ""),
                "web_order_line_item_id": line ?? .null,
                "order_id": .string(OrderID.text(of: found.id)),
                "account": .string(found.account.name),
                "environment": .string(environment.rawValue),
            ]
        }
        throw SimulatorProblem.unknownTransaction(id)
    }
}
