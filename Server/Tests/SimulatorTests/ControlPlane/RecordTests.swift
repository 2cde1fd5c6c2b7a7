import AppStoreFormats
import Testing

@testable import Simulator

/// What the simulator logs about calls of Apple's API.
@Suite struct RecordTests {
    private func calls(_ stage: Stage) async -> [JSON] {
        await stage.simulator.log.filter { $0["what"] == "call" }
    }

    @Test func `a call of Apple's API is logged with its request and the reason for its refusal`()
        async throws
    {
        let stage = try Stage()
        let id = try await stage.buy("pro.monthly").transactionID
        _ = try await stage.answer(Ask("GET v1/subscriptions/\(id)", [("status", "1")]))
        let body: JSON = ["extendByDays": 900]
        _ = try await stage.answer(Ask("PUT v1/subscriptions/extend/\(id)", body: body))
        let noted = await calls(stage)
        try #require(noted.map { $0["status"]?.integer } == [200, 400])
        #expect(noted[0]["endpoint"]?.string == "GET v1/subscriptions/\(id)")
        #expect(noted[0]["query"] == ["status=1"] && noted[0]["error_code"] == .null)
        #expect(noted[1]["body"]?.string == body.text && noted[1]["error_code"] == 4_000_009)
    }

    @Test func `if a request body is long, only its beginning is logged`()
        async throws
    {
        let stage = try Stage()
        try await stage.withClient { client in
            let long = String(repeating: "x", count: 5000)
            let answer = try await client.json("/verifyReceipt", #"{"receipt-data":"\#(long)"}"#)
            #expect(answer["status"] == 21002)
        }
        let noted = try require(await calls(stage).last, "nothing was noted")
        #expect(noted["endpoint"] == "POST verifyReceipt" && noted["status"] == 21002)
        #expect(noted["body"]?.string?.utf8.count == AppStoreSimulator.recordedBytesMax)
    }
}
