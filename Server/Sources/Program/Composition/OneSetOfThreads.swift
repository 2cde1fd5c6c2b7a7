import NIOCore
import NIOPosix

/// Runs tasks on the threads that read and write the sockets, in place of a second set: a request
/// is then read, answered and written by one thread, and is not handed over twice.
///
/// It suits a server that never blocks: SQLite is read for microseconds, and whoever waits for a
/// disk or for PostgreSQL waits on a thread of its own. Where the language's runtime does not allow
/// it, all goes on as without.
enum OneSetOfThreads {
    /// To be called once, by a program that serves, before its work begins.
    @MainActor static func begin() {
        NIOSingletons.unsafeTryInstallSingletonPosixEventLoopGroupAsConcurrencyGlobalExecutor()
    }
}
