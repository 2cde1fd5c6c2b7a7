import UnixSignals

/// Cancels a command on SIGINT or SIGTERM, so that the command can delete its unfinished files.
enum Interruption {
    /// Runs a command that may be interrupted.
    ///
    /// - Throws: ``StartFailure`` after the end of a command that was interrupted. Rethrows the
    ///   command's error.
    static func cancelling(
        _ body: @escaping @Sendable () async throws -> Void
    ) async throws {
        let signals = await UnixSignalsSequence(trapping: .sigint, .sigterm)
        try await withThrowingTaskGroup(of: Bool.self) { tasks in
            tasks.addTask {
                try await body()
                return true
            }
            tasks.addTask {
                for await _ in signals { return false }
                return true
            }
            let hasEnded = try await tasks.next() ?? true
            tasks.cancelAll()
            guard !hasEnded else { return }
            // Waits for the command's end. A cancelled command fails, unless it has just ended.
            while let outcome = await tasks.nextResult() {
                if case .success(true) = outcome { return }
            }
            throw StartFailure(
                "Interrupted. What was unfinished was deleted.", remedy: "Run it again.")
        }
    }
}
