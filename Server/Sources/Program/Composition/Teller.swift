import Engine
import Logging
import ServiceLifecycle

/// Tells what time does to purchases, as it does it: an end that comes without a word is an event
/// like any other. Any number of servers may do so on one database.
actor Teller: Service {
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
        await cancelWhenGracefulShutdown {
            while !Task.isCancelled {
                await self.settle()
                do { try await Task.sleep(for: self.pause) } catch { return }
            }
        }
    }

    /// Returns when everything is told that was due when it was called. Harmless beside itself.
    func settle() async {
        do {
            while !Task.isCancelled, try await engine.tellTurns() > 0 {}
        } catch {
            logger.error("what time did was not told", metadata: ["error": "\(error)"])
        }
    }
}
