/// Delays before retrying after failures. Each delay is twice the previous one, up to the longest.
package struct ExponentialBackoff: Hashable, Sendable {
    package var first: Duration
    package var longest: Duration

    package init(first: Duration, longest: Duration) {
        self.first = first
        self.longest = longest
    }

    /// - Parameter failures: the number of failures in a row. For 0 or less there is no delay.
    package func delay(after failures: Int) -> Duration {
        guard failures > 0 else { return .zero }
        var (pause, doublingsLeft) = (first, failures - 1)
        while doublingsLeft > 0, pause < longest {
            pause = pause * 2
            doublingsLeft -= 1
        }
        return min(pause, longest)
    }
}
