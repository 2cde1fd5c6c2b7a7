import Foundation

/// Something that a test waited for, and that did not come.
package struct NeverCame: Error, CustomStringConvertible {
    package var description: String
}

/// Waits until something is so that others do in their own time. Tests wait by this, and never for
/// a while in the hope that it is enough.
///
/// - Throws: ``NeverCame`` if it is not so in time.
package func eventually(
    within seconds: Double = 600, _ what: String = "what a test waited for",
    _ isSo: () async throws -> Bool
) async throws {
    guard try await isSoon(within: seconds, isSo) else {
        throw NeverCame(description: "\(what): not within \(seconds) seconds")
    }
}

/// Returns true as soon as something is so, and false if it is not so in time.
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

/// Blocks the thread until something is so: for code that may not suspend, such as a transaction.
///
/// - Throws: ``NeverCame`` if it is not so in time.
package func blockUntil(
    within seconds: Double = 600, _ what: String = "what a test waited for",
    _ isSo: () throws -> Bool
) throws {
    let end = ContinuousClock.now + .seconds(seconds)
    while try !isSo() {
        guard ContinuousClock.now < end else {
            throw NeverCame(description: "\(what): not within \(seconds) seconds")
        }
        Thread.sleep(forTimeInterval: 0.01)
    }
}

/// Between two looks.
private let pollPause = Duration.milliseconds(10)
