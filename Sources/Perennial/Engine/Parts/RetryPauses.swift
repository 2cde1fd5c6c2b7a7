/// The pauses between failing attempts. Each pause is twice as long as the previous one.
enum RetryPauses {
    /// The shortest pause, in milliseconds.
    static let min: Int64 = 1_000
    /// The longest pause, in milliseconds.
    static let max: Int64 = 3_600_000
    /// The number of doublings after which a pause would be longer than ``max``.
    private static let doublingsMax = 12

    /// The longest wait in milliseconds after a number of consecutive failures. The number must be
    /// at least 1.
    static func longestWait(after failures: Int) -> Int64 {
        Swift.min(min << Swift.min(failures - 1, doublingsMax), max)
    }

    /// The wait in milliseconds after a number of consecutive failures: a random time between half
    /// of the longest wait and the longest wait. Zero after no failure.
    static func wait(after failures: Int) -> Int64 {
        guard failures > 0 else { return 0 }
        let longest = longestWait(after: failures)
        return Int64.random(in: longest / 2...longest)
    }
}
