import AppStoreFormats
import Testing

@testable import AppStoreClient

/// The failure that each response of the App Store causes.
@Suite struct FailureTests {
    struct Row: Sendable, CustomTestStringConvertible {
        var response: AppStoreResponse
        var means: String
        var testDescription: String {
            "\(response.status) \(String(decoding: response.body.prefix(60), as: UTF8.self))"
        }
    }

    static let rows = [
        Row(response: .error(4_040_010), means: "unknown"),
        Row(response: .error(4_040_005), means: "unknown"),
        Row(response: .error(4_040_001), means: "unknown"),
        Row(response: .error(4_040_002), means: "unavailable"),
        Row(response: .error(4_040_004), means: "unavailable"),
        Row(response: .error(4_040_006), means: "unavailable"),
        Row(response: .error(5_000_000), means: "unavailable"),
        Row(response: .error(5_000_001), means: "unavailable"),
        Row(
            response: AppStoreResponse(status: 503, body: Array("<html>".utf8)),
            means: "unavailable"),
        Row(response: AppStoreResponse(status: 408), means: "unavailable"),
        Row(response: AppStoreResponse(status: 401), means: "unauthorized"),
        Row(response: .error(4_010_000), means: "unauthorized"),
        Row(response: .error(4_290_000), means: "too many"),
        Row(response: AppStoreResponse(status: 429), means: "too many"),
        Row(response: .error(4_000_006), means: "refused 4000006"),
        Row(response: .error(4_030_004), means: "refused 4030004"),
        Row(response: .error(4_040_003), means: "refused 4040003"),
        Row(response: .error(4_040_007), means: "refused 4040007"),
        Row(response: .error(4_049_999), means: "refused 4049999"),
        Row(response: AppStoreResponse(status: 404), means: "unreadable"),
        Row(response: AppStoreResponse(status: 400, body: Array("{}".utf8)), means: "unreadable"),
        Row(response: AppStoreResponse(status: 302), means: "unreadable"),
        Row(
            response: AppStoreResponse(status: 200, body: Array("<html>".utf8)), means: "unreadable"
        ),
        Row(response: .ok([]), means: "unreadable"),
        Row(response: .ok(["signedTransactionInfo": 5]), means: "unreadable"),
        Row(
            response: AppStoreResponse(
                status: 200,
                body: Array(repeating: 0x20, count: AppStoreResponse.bodyBytesMax + 1)),
            means: "unreadable"),
    ]

    @Test(arguments: rows)
    func `each error response of the App Store is read as one kind of failure`(row: Row)
        async throws
    {
        let bench = try Bench(row.response)
        let failure = await #expect(throws: AppStoreFailure.self) {
            try await bench.client.transaction("1", in: .production)
        }
        #expect(failure.map(Self.word) == row.means)
        #expect(failure?.description.isEmpty == false && failure?.remedy.isEmpty == false)
    }

    private static func word(_ failure: AppStoreFailure) -> String {
        switch failure {
        case .unknownID: "unknown"
        case .unauthorized: "unauthorized"
        case .rateLimited: "too many"
        case .unavailable: "unavailable"
        case .refused(let code, _): "refused \(code)"
        case .unreadable: "unreadable"
        }
    }

    @Test func `a network failure is reported as an unavailable App Store`() async throws {
        let bench = try Bench(Script(failing: Script.Ended()))
        let failure = await #expect(throws: AppStoreFailure.self) {
            try await bench.client.statuses(of: "1", in: .production)
        }
        #expect(failure.map(Self.word) == "unavailable")
    }

    /// Each row: the header `Retry-After`, and the wait that follows from it. The test's clock
    /// shows 1767268800000, in milliseconds since 1970.
    @Test(
        arguments: [
            ("1767268830000", 30_000), ("1767268800001", 1000), ("1767268700000", 1000),
            ("1867268800000", 3_600_000), ("30", 30_000), ("3600001", 1000), ("0", 60_000),
            ("soon", 60_000), ("-5", 60_000), (nil, 60_000), ("99999999999999999999", 60_000),
            ("Thu, 01 Jan 2026 12:00:45 GMT", 45_000), ("Thu, 01 Jan 2026 11:00:00 GMT", 1000),
            ("Fri, 02 Jan 2026 12:00:00 GMT", 3_600_000), ("Thu, 01 Jan 2026", 60_000),
        ] as [(String?, Int64)])
    func `a rate limit ends at the time that Apple names, at most an hour later`(
        header: String?, wait: Int64
    ) async throws {
        let bench = try Bench(.error(4_290_000, retryAfter: header))
        let until = AppStoreDate(milliseconds: bench.clock.now().milliseconds + wait)
        await #expect(throws: AppStoreFailure.rateLimited(until: until)) {
            try await bench.client.transaction("1", in: .production)
        }
    }

    @Test(arguments: ["", "1/2", "..", "1?x=1", "ä", String(repeating: "1", count: 129)])
    func `an invalid transaction id is never sent`(id: String) async throws {
        let bench = try Bench(.transaction)
        let failure = await #expect(throws: AppStoreFailure.self) {
            try await bench.client.transaction(id, in: .production)
        }
        #expect(failure.map(Self.word) == "refused 4000006")
        #expect(bench.script.requests.isEmpty)
    }
}
