import Foundation
import PerennialContract
import Testing

@testable import Perennial

@Suite struct LimitTests {
    @Test func `a sleep of the longest possible time waits, and does not return at once`() async {
        let waiting = Task { try await SystemClock().sleep(milliseconds: .max) }
        waiting.cancel()
        await #expect(throws: CancellationError.self) { try await waiting.value }
    }

    @Test func `the SDK waits for a customer proof only until the time limit`() async {
        let client = ServerClient(
            base: URL(string: "http://127.0.0.1:9")!, key: "pk_a",
            proof: { _ in
                for await _ in AsyncStream<Void>(Void.self, { _ in }) {}
                return "never"
            })
        let failure = await #expect(throws: ServerError.self) {
            try await client.send(.get("/v1/ping", for: "anna", within: 0.05))
        }
        #expect(failure?.failure.code.rawValue == "customer_proof_missing")
        #expect(failure?.failure.isTemporary == true)
        #expect(failure?.failure.remedy == "Your `proof` closure did not return in time.")
    }

    @Test func `the pauses before an outbox entry is posted again double up to a limit`() {
        let waits = (1...20).map { RetryPauses.wait(after: $0) }
        for (failures, wait) in zip(1..., waits) {
            let limit = min(RetryPauses.min << Int64(min(failures - 1, 12)), RetryPauses.max)
            #expect((limit / 2...limit).contains(wait))
        }
    }
}
