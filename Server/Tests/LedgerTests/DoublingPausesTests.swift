import Ledger
import Testing

@Suite struct DoublingPausesTests {
    private let pauses = ExponentialBackoff(first: .seconds(15), longest: .seconds(100))

    @Test(
        arguments: [
            (.min, 0), (-1, 0), (0, 0), (1, 15), (2, 30), (3, 60), (4, 100), (5, 100),
            (.max, 100),
        ] as [(Int, Int)])
    func `each pause is twice the previous one, up to the longest pause`(
        failures: Int, seconds: Int
    ) {
        #expect(pauses.delay(after: failures) == .seconds(seconds))
    }

    @Test func `a first pause that exceeds the longest pause is shortened to the longest pause`() {
        let pauses = ExponentialBackoff(first: .hours(2), longest: .hours(1))
        #expect(pauses.delay(after: 1) == .hours(1))
    }
}
