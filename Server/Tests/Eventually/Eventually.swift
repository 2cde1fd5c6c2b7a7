import Foundation

/// The error of a test whose condition did not hold in time.
package struct NeverCame: Error, CustomStringConvertible {
    package var description: String

    /// - Parameter what: what the test waited for.
    package init(_ what: String, within seconds: Double) {
        description = "\(what): not within \(seconds) seconds"
    }
}

/// The default limit of a wait, in seconds. It is much shorter than the time limit of a test,
/// because the failure of a test at its time limit cannot name the condition.
package let waitSecondsMax = 240.0

/// Waits for a condition that other tasks or programs bring about. Use it instead of a fixed sleep,
/// which is too short on a busy machine.
///
/// - Parameter what: what the test waits for; the error names it.
/// - Throws: ``NeverCame`` if the condition does not hold in time.
package func eventually(
    _ what: String, within seconds: Double = waitSecondsMax, _ isSo: () async throws -> Bool
) async throws {
    guard try await isSoon(within: seconds, isSo) else { throw NeverCame(what, within: seconds) }
}

/// Returns true as soon as a condition holds, and false if it does not hold in time.
package func isSoon(
    within seconds: Double, _ isSo: () async throws -> Bool
) async throws -> Bool {
    let end = ContinuousClock.now + .seconds(seconds)
    while ContinuousClock.now < end {
        if try await isSo() { return true }
        try await Task.sleep(for: pollPause)
    }
    return try await isSo()
}

/// Blocks the thread until a condition holds. For code that may not suspend, such as a transaction.
///
/// - Throws: ``NeverCame`` if the condition does not hold in time.
package func blockUntil(
    _ what: String, within seconds: Double = waitSecondsMax, _ isSo: () throws -> Bool
) throws {
    let end = ContinuousClock.now + .seconds(seconds)
    while try !isSo() {
        guard ContinuousClock.now < end else { throw NeverCame(what, within: seconds) }
        Thread.sleep(forTimeInterval: 0.01)
    }
}

/// The pause between two checks of a condition.
private let pollPause = Duration.milliseconds(10)
