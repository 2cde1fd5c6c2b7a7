/// Waits for work, but not for longer than a limit.
enum TimeLimit {
    /// Begins work, and waits for it until the limit. Work that takes longer goes on by itself, for
    /// example if a disk does not answer.
    ///
    /// - Returns: whether the work has ended.
    static func waits(
        _ limit: Duration, for work: @escaping @Sendable () async -> Void
    ) async -> Bool {
        let (ends, end) = AsyncStream.makeStream(of: Bool.self)
        Task(executorPreference: globalConcurrentExecutor) {
            await work()
            end.yield(true)
        }
        let waiting = Task {
            try? await Task.sleep(for: limit)
            end.yield(false)
        }
        defer { waiting.cancel() }
        return await ends.first { _ in true } ?? false
    }
}
