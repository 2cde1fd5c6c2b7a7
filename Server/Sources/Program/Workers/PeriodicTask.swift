import ServiceLifecycle

/// Runs the work now and after each pause, until the task is cancelled or the program shuts down.
/// Work in progress at shutdown is cancelled.
func runPeriodically(every pause: Duration, _ work: @escaping @Sendable () async -> Void) async {
    await cancelWhenGracefulShutdown {
        while !Task.isCancelled {
            await work()
            do { try await Task.sleep(for: pause) } catch { return }
        }
    }
}
