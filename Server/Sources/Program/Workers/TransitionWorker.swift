import Engine
import Logging
import ServiceLifecycle

/// Emits time-based events when they become due, such as the end of an access that no notification
/// announced. Any number of servers may do this on one database.
actor TransitionWorker: Service {
    /// The maximum number of rounds per run, even if more is due.
    static let roundsMax = 1_000
    static let pause = Duration.seconds(1)

    private let engine: Engine
    private let pause: Duration
    private let logger: Logger

    /// - Parameter pause: the time between two checks for due events.
    init(engine: Engine, pause: Duration = TransitionWorker.pause, logger: Logger) {
        self.engine = engine
        self.pause = pause
        self.logger = logger
    }

    func run() async throws {
        await runPeriodically(every: pause) { await self.processDue() }
    }

    /// Returns when everything that was due at the call has been emitted, and every committed event
    /// has its number. May run concurrently with itself.
    func processDue() async {
        do {
            for _ in 0..<Self.roundsMax {
                guard !Task.isCancelled, try await engine.emitTimeBasedEvents() > 0 else { break }
            }
        } catch {
            logger.error("emitting time-based events failed", metadata: ["error": "\(error)"])
        }
        do { try await engine.numberEvents() } catch {
            logger.error("events were not numbered", metadata: ["error": "\(error)"])
        }
    }
}
