import NIOPosix

/// Runs tasks on the threads that read and write the sockets, instead of on a second set of
/// threads. So one thread reads, processes, and answers a request, without passing it to another.
///
/// Suitable for a server that never blocks: SQLite reads take microseconds, and waiting for a
/// disk or for PostgreSQL happens on separate threads.
final class EventLoopExecutor: TaskExecutor {
    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        // `any()` returns the event loop of the current thread, if the thread belongs to one.
        MultiThreadedEventLoopGroup.singleton.any().execute { [self] in
            job.runSynchronously(on: asUnownedTaskExecutor())
        }
    }

    /// Runs a body, and all tasks that it awaits, on the threads of the event loops.
    static func run(_ body: @Sendable () async throws -> Void) async throws {
        try await withTaskExecutorPreference(EventLoopExecutor(), operation: body)
    }
}
