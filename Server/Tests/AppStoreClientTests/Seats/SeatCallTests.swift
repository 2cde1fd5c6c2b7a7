import AppStoreFormats
import Testing

@testable import AppStoreClient

/// Calls about seats, whose errors Apple documents by name.
@Suite struct SeatCallTests {
    @Test(
        arguments: [
            ("NoAvailableSeatsError: every seat is claimed.", SeatError.noAvailableSeats),
            ("No available seats.", .noAvailableSeats),
            ("Seat claim id not found.", .claimNotFound),
            ("SEAT_CLAIM_ID_NOT_FOUND", .claimNotFound),
            ("App transaction id not found.", .appTransactionNotFound),
            ("TransactionNotDevManagedGroupError", .notManagedByApp),
            ("Transaction id not found.", nil), ("", nil), ("Forbidden", nil),
        ] as [(String, SeatError?)])
    func `a seat error is recognised by its name, however the name is spelt`(
        message: String, error: SeatError?
    ) {
        #expect(AppStoreFailure.refused(code: 4_039_999, message: message).seatError == error)
        #expect(AppStoreFailure.unavailable(message).seatError == nil)
    }

    private func bench(_ status: Int, _ body: String) throws -> Bench {
        try Bench(Script([AppStoreResponse(status: status, body: Array(body.utf8))]))
    }

    private func line(_ bench: Bench) -> String? {
        bench.script.requests.first.map { "\($0.method) \($0.path)" }
    }

    @Test func `a request for a seat claim contains our request id`() async throws {
        let bench = try bench(200, #"{"seatClaimId":"6F2C4B0E-3b1f-4d5e-8f6a-0c9d1e2f3a41"}"#)
        let id = try await bench.client.claimSeat(of: "1", requestID: "r", in: .sandbox)
        #expect(id == "6f2c4b0e-3b1f-4d5e-8f6a-0c9d1e2f3a41")
        #expect(line(bench) == "POST /groups/v1/transactions/1/seats")
        let body = try JSON(parsing: try #require(bench.script.requests.first?.body))
        #expect(body == ["requestIdentifier": "r"])
    }

    @Test func `a seat claim is ended by its id`() async throws {
        let bench = try bench(200, "")
        try await bench.client.unclaimSeat("s-1", of: "1", in: .sandbox)
        #expect(line(bench) == "DELETE /groups/v1/transactions/1/seats/s-1")
    }

    @Test func `an inventory may list more claims than there are seats`() async throws {
        let bench = try bench(
            200,
            #"{"totalSeatCount":1,"availableSeatCount":0,"assignedSeatClaimIds":["A","b"]}"#)
        let found = try await bench.client.seats(of: "1", in: .sandbox)
        #expect(found == SeatInventory(total: 1, available: 0, claims: ["a", "b"]))
        #expect(line(bench) == "GET /groups/v1/transactions/1/seats")
    }

    @Test(arguments: [
        #"{"totalSeatCount":1,"availableSeatCount":0}"#,
        #"{"totalSeatCount":1,"availableSeatCount":-1,"assignedSeatClaimIds":[]}"#,
        #"{"totalSeatCount":1,"availableSeatCount":0,"assignedSeatClaimIds":["a/b"]}"#, "[]",
    ]) func `a response without a required value is an error`(body: String) async throws {
        let bench = try bench(200, body)
        await #expect(throws: AppStoreFailure.self) {
            try await bench.client.seats(of: "1", in: .sandbox)
        }
    }
}
