import ServiceLifecycle

/// Does something now, and again after each pause, until the program is to end: what is begun then
/// is told by its cancellation.
func repeating(every pause: Duration, _ work: @escaping @Sendable () async -> Void) async {
    await cancelWhenGracefulShutdown {
        while !Task.isCancelled {
            await work()
            do { try await Task.sleep(for: pause) } catch { return }
        }
    }
}
