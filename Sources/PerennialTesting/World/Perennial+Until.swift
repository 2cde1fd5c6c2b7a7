public import Perennial

extension Perennial {
    /// Waits until the snapshot satisfies a condition, and returns it.
    ///
    /// - Parameter seconds: the longest wait in seconds, in real time.
    /// - Throws: ``WorldFailure`` with the last snapshot, if the condition is still false after the
    ///   longest wait.
    @discardableResult
    public func until(
        withinSeconds seconds: Double = 30, _ claim: @escaping @Sendable (Snapshot) -> Bool
    ) async throws -> Snapshot {
        let changes = changes
        let waiting = Task { () -> Snapshot? in
            for await snapshot in changes where claim(snapshot) { return snapshot }
            return nil
        }
        let limit = Task {
            try await Task.sleep(nanoseconds: UInt64(seconds * 1_000_000_000))
            waiting.cancel()
        }
        let found = await waiting.value
        limit.cancel()
        guard let found else {
            throw WorldFailure("After \(seconds) seconds it is still \(snapshot).")
        }
        return found
    }
}
