import Engine
import Logging
import ServiceLifecycle

/// Numbers events soon after this server has committed them, if the database does not number them
/// in the same transaction. Several servers may number events of one database. If a server is
/// killed before it has numbered its events, any other server numbers them: in its worker for
/// time-based events, or when a request reads the log.
struct Sequencer: Service {
    /// Events that are committed within this time are numbered in one transaction.
    static let pause = Duration.milliseconds(20)

    let engine: Engine
    let logger: Logger

    func run() async throws {
        for await _ in engine.events.unnumbered.cancelOnGracefulShutdown() {
            do { try await engine.events.numberEvents(isWaiting: false) } catch {
                logger.warning(
                    "events could not be numbered; the next commit numbers them",
                    metadata: ["error": "\(error)"])
            }
            do { try await Task.sleep(for: Self.pause) } catch { return }
        }
    }
}
