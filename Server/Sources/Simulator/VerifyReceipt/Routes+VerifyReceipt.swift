import AppStoreFormats
import HTTPTypes
import Hummingbird

// Apple's own paths, and what puts trouble on them.

/// An answer that verifyReceipt is to give once, whatever it is asked.
struct OrderedStatus: Hashable, Sendable {
    let status: VerifyReceiptStatus
    let isRetryable: Bool?

    /// Answers that can be ordered at once.
    static let countMax = 1000

    func answer(at environment: SimulatedEnvironment) -> VerifyReceiptAnswer {
        var answer = VerifyReceiptAnswer(status)
        answer.isRetryable = isRetryable
        if isRetryable != nil { answer.environment = environment.storeEnvironment }
        return answer
    }
}

extension AppStoreSimulator {
    /// Answers are as Apple's of 2018 in this, too: HTTP says 200 whatever the status, and no type
    /// of content.
    nonisolated func addVerifyReceipt(to router: Router<BasicRequestContext>) {
        let paths: [(String, SimulatedEnvironment)] = [
            ("/verifyReceipt", .production), ("/sandbox/verifyReceipt", .sandbox),
        ]
        for (path, environment) in paths {
            router.post(RouterPath(path)) { request, _ in
                let limit = VerifyReceipt.bodyBytesMax
                let body = try await Self.bytes(of: request, atMost: limit)
                let answer = try await self.verifyReceipt(body, at: environment)
                await self.note(body, answer, at: environment)
                return Self.response(answer)
            }
            router.get(RouterPath(path)) { _, _ in
                Self.response(VerifyReceiptAnswer(.unreadable).json)
            }
        }
    }

    /// What was asked, and the status of the answer.
    private func note(_ body: [UInt8], _ answer: JSON, at environment: SimulatedEnvironment) {
        note(
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

    /// What verifyReceipt of one store answers to a request's body. Harmless to repeat.
    ///
    /// First comes what was ordered, then the faults of the API, then the truth.
    package func verifyReceipt(
        _ body: [UInt8], at environment: SimulatedEnvironment
    ) async throws -> JSON {
        if !orderedStatuses.isEmpty {
            return orderedStatuses.removeFirst().answer(at: environment).json
        }
        if let answer = await faultyAnswer(toReceipt: body, at: environment) { return answer }
        let question = VerifyReceipt(
            world: world, authority: try authority.receipts, environment: environment,
            now: clock.now)
        let answer = try question.answer(to: body)
        remember(answer, toReceipt: body, at: environment)
        return answer
    }

    /// Orders what verifyReceipt answers next, so many times.
    func order(_ status: OrderedStatus, times: Int64) throws(StoreProblem) {
        let room = OrderedStatus.countMax - orderedStatuses.count
        guard times > 0, times <= room else {
            throw .badRequest(
                "So many answers (\(times)) cannot be ordered.",
                remedy: "Order 1 to \(room), or ask verifyReceipt first.")
        }
        for _ in 0..<times { orderedStatuses.append(status) }
    }
}

extension SimulatorRoute {
    static let verifyReceiptRoutes = [
        post(
            "/_sim/verify-receipt", "What verifyReceipt answers next, whatever it is asked.",
            [
                Field("status", "integer", "Such as 21005, or 21100 to 21199."),
                Field("is_retryable", "boolean", "Goes with 21100 to 21199."),
                Field("times", "integer", "1 unless told."),
            ], gives: .json("OrderedStatuses")
        ) { simulator, call in
            guard let number = try call.body.integer("status"), statuses.contains(number) else {
                throw RequestBody.wrong("status", "a number from 21000 to 21199")
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
