/// The pauses between attempts that fail: each is twice as long as the one before.
enum RetryPauses {
    /// The shortest pause. Milliseconds.
    static let min: Int64 = 1_000
    /// The longest pause. Milliseconds.
    static let max: Int64 = 3_600_000
    /// After this many pauses, the next one would be longer than ``max``.
    private static let doublingsMax = 12

    /// The longest wait after a number of failures in a row, which is at least 1. Milliseconds.
    static func longestWait(after failures: Int) -> Int64 {
        Swift.min(min << Swift.min(failures - 1, doublingsMax), max)
    }

    /// The wait after a number of failures in a row: at random between half of the longest wait and
    /// the longest. Zero without a failure. Milliseconds.
    static func wait(after failures: Int) -> Int64 {
        guard failures > 0 else { return 0 }
        let longest = longestWait(after: failures)
        return Int64.random(in: longest / 2...longest)
    }
}
