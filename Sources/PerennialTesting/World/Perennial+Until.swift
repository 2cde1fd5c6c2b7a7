public import Perennial

extension Perennial {
    /// Waits until what is known is as it is claimed, and returns it.
    ///
    /// - Parameter seconds: the longest wait, in real time.
    /// - Throws: ``WorldFailure`` with what is known, if the claim is still wrong then.
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
