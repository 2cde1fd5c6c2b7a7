import NIOPosix

/// Runs tasks on the threads that read and write the sockets, in place of a second set: a request
/// is then read, answered and written by one thread, and is not handed over twice.
///
/// It suits a server that never blocks: SQLite is read for microseconds, and whoever waits for a
/// disk or for PostgreSQL waits on a thread of its own.
final class OneSetOfThreads: TaskExecutor {
    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        // The thread that we are on, where it is one of them.
        MultiThreadedEventLoopGroup.singleton.any().execute { [self] in
            job.runSynchronously(on: asUnownedTaskExecutor())
        }
    }

    /// Runs a body, and all tasks that it waits for, on those threads.
    static func run(_ body: @Sendable () async throws -> Void) async throws {
        try await withTaskExecutorPreference(OneSetOfThreads(), operation: body)
    }
}
