import Engine
import Logging
import ServiceLifecycle

/// Numbers events soon after this server has committed them, if the database does not number them
/// at once. Several servers may do so on one database. If a server is killed before it has numbered
/// its events, the worker of time-based events on any other server numbers them, and so does every
/// read of the log.
struct Sequencer: Service {
    /// Commits within this time share one transaction that numbers their events.
    static let pause = Duration.milliseconds(20)

    let engine: Engine
    let logger: Logger

    func run() async throws {
        for await _ in engine.events.unnumbered.cancelOnGracefulShutdown() {
            do { try await engine.events.numberEvents(isWaiting: false) } catch {
                logger.warning(
                    "events could not be numbered; they will be with the next commit",
                    metadata: ["error": "\(error)"])
            }
            do { try await Task.sleep(for: Self.pause) } catch { return }
        }
    }
}
