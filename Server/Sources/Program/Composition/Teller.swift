import Engine
import Logging
import ServiceLifecycle

/// Tells what time does to purchases, as it does it: an end that comes without a word is an event
/// like any other. Any number of servers may do so on one database.
actor Teller: Service {
    /// Looks after which it rests, although more is due.
    static let looksMax = 1_000
    static let pause = Duration.seconds(1)

    private let engine: Engine
    private let pause: Duration
    private let logger: Logger

    /// - Parameter pause: between two looks for what is due.
    init(engine: Engine, pause: Duration = Teller.pause, logger: Logger) {
        self.engine = engine
        self.pause = pause
        self.logger = logger
    }

    func run() async throws {
        await repeating(every: pause) { await self.settle() }
    }

    /// Returns when everything is told that was due when it was called. Harmless beside itself.
    func settle() async {
        do {
            for _ in 0..<Self.looksMax {
                guard !Task.isCancelled, try await engine.tellTurns() > 0 else { return }
            }
        } catch {
            logger.error("what time did was not told", metadata: ["error": "\(error)"])
        }
    }
}
