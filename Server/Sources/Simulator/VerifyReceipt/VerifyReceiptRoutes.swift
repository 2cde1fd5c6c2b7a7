import AppStoreFormats
import HTTPTypes
import Hummingbird

// Apple's own paths, and the route that sets the next responses at these paths.

/// A response that verifyReceipt returns once, whatever the request.
struct OrderedStatus: Hashable, Sendable {
    let status: VerifyReceiptStatus
    let isRetryable: Bool?

    /// Maximum number of responses that are set in advance.
    static let countMax = 1000

    func response(at environment: SimulatedEnvironment) -> VerifyReceiptResponse {
        var answer = VerifyReceiptResponse(status)
        answer.isRetryable = isRetryable
        if isRetryable != nil { answer.environment = environment.storeEnvironment }
        return answer
    }
}

extension AppStoreSimulator {
    /// Adds verifyReceipt's paths. As in Apple's responses of 2018, the HTTP status is 200 whatever
    /// the body's status, and there is no content type.
    nonisolated func addVerifyReceipt(to router: Router<SimulatorContext>) {
        let paths: [(String, SimulatedEnvironment)] = [
            ("/verifyReceipt", .production), ("/sandbox/verifyReceipt", .sandbox),
        ]
        for (path, environment) in paths {
            router.post(RouterPath(path)) { request, _ in
                let limit = VerifyReceiptResponder.bodyBytesMax
                let body = try await Self.bytes(of: request, atMost: limit)
                let answer = try await self.verifyReceipt(body, at: environment)
                await self.logCall(body, answer, at: environment)
                return Self.response(answer)
            }
            router.get(RouterPath(path)) { _, _ in
                Self.response(VerifyReceiptResponse(.unreadable).json)
            }
        }
    }

    /// Logs the request and the status of the response.
    private func logCall(_ body: [UInt8], _ answer: JSON, at environment: SimulatedEnvironment) {
        appendToLog(
            .call,
            [
                ("endpoint", "POST verifyReceipt"), ("environment", .string(environment.rawValue)),
                ("body", Self.recorded(body)), ("status", answer["status"] ?? .null),
            ])
    }

    private static func response(_ json: JSON) -> Response {
        let headers: HTTPFields = [.cacheControl: "private"]
        return Response(
            status: .ok, headers: headers,
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: json.bytes)))
    }

    /// The response of verifyReceipt in one environment to a request's body. Idempotent unless
    /// responses are set in advance.
    ///
    /// Responses that are set in advance come first, then faults of the API, then the true
    /// response.
    package func verifyReceipt(
        _ body: [UInt8], at environment: SimulatedEnvironment
    ) async throws -> JSON {
        if !orderedStatuses.isEmpty {
            return orderedStatuses.removeFirst().response(at: environment).json
        }
        if let answer = await faultyResponse(toReceipt: body, at: environment) { return answer }
        let question = VerifyReceiptResponder(
            world: world, authority: try authority.receipts, environment: environment,
            now: clock.now)
        let answer = try question.response(to: body)
        remember(answer, toReceipt: body, at: environment)
        return answer
    }

    /// Sets the next responses of verifyReceipt: the same status for a number of requests.
    func order(_ status: OrderedStatus, times: Int64) throws(SimulatorProblem) {
        let room = OrderedStatus.countMax - orderedStatuses.count
        guard times > 0, times <= room else {
            throw .badRequest(
                "At most \(OrderedStatus.countMax) responses can be set, and "
                    + "\(orderedStatuses.count) are set: times cannot be \(times).",
                remedy: "Send a smaller `times`, at least 1. Each request to verifyReceipt uses up "
                    + "one response.")
        }
        for _ in 0..<times { orderedStatuses.append(status) }
    }
}

extension SimulatorRoute {
    static let verifyReceiptRoutes = [
        post(
            "/_sim/verify-receipt",
            "Sets the next responses of verifyReceipt, whatever the request.",
            [
                Field("status", "integer", "Such as 21005, or 21100 to 21199."),
                Field("is_retryable", "boolean", "Goes with 21100 to 21199."),
                Field("times", "integer", "1 by default."),
            ], gives: .json("OrderedStatuses")
        ) { simulator, call in
            guard let number = try call.body.integer("status"), statuses.contains(number) else {
                throw RequestBody.invalidField("status", "a number from 21000 to 21199")
            }
            let ordered = OrderedStatus(
                status: VerifyReceiptStatus(rawValue: number),
                isRetryable: try call.body.bool("is_retryable"))
            try await simulator.order(ordered, times: call.body.integer("times") ?? 1)
            return .json(["ordered": .integer(Int64(await simulator.orderedStatuses.count))])
        }
    ]

    private static let statuses: ClosedRange<Int64> = 21000...21199
}
