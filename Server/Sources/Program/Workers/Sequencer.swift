import Engine
import Logging
import ServiceLifecycle

/// Numbers events soon after this server has committed them, where the database does not do so at
/// once. Any number of servers may do so on one database. If one is killed, the ``TransitionWorker`` of any
/// other server numbers its events, and so does whoever reads the log.
struct Sequencer: Service {
    /// Commits within this time share one transaction that numbers their events.
    static let pause = Duration.milliseconds(20)

    let engine: Engine
    let logger: Logger

    func run() async throws {
        for await _ in engine.unnumbered.cancelOnGracefulShutdown() {
            do { try await engine.numberEvents(isWaiting: false) } catch {
                logger.warning("events were not numbered", metadata: ["error": "\(error)"])
            }
            do { try await Task.sleep(for: Self.pause) } catch { return }
        }
    }
}
