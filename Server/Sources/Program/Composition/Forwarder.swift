import Engine
import Ledger
import Logging
import ServiceLifecycle

/// Sends notifications on to other addresses, each at its own pace: one that is slow or away holds
/// up no other. Any number of servers may do so on one database.
actor Forwarder: Service {
    /// Rounds after which an address' queue rests, although more is due.
    static let roundsMax = 1_000
    static let pause = Duration.seconds(1)
    /// Between two looks at how much waits.
    static let lookPause = Duration.seconds(5)

    private let engine: Engine
    private let pause: Duration
    private let logger: Logger
    /// Of each address.
    private let line = WaitingLine()

    /// - Parameter pause: between two looks for what is due.
    init(engine: Engine, pause: Duration = Forwarder.pause, logger: Logger) {
        self.engine = engine
        self.pause = pause
        self.logger = logger
    }

    func run() async throws {
        await withTaskGroup(of: Void.self) { tasks in
            for (app, target) in engine.forwardQueues {
                tasks.addTask { [pause] in
                    await repeating(every: pause) { await self.settle(target, of: app) }
                }
            }
            tasks.addTask { await repeating(every: Self.lookPause) { await self.look() } }
        }
    }

    /// Returns when everything was tried that was due when it was called: also what another call
    /// had begun to try.
    func settle() async {
        await withTaskGroup(of: Void.self) { tasks in
            for (app, target) in engine.forwardQueues {
                tasks.addTask { await self.settle(target, of: app) }
            }
        }
    }

    private func settle(_ target: ForwardTarget, of app: AppID) async {
        let queue = "\(app) \(target.name)"
        await line.join(at: queue)
        defer { line.leave(at: queue) }
        do {
            for _ in 0..<Self.roundsMax {
                guard !Task.isCancelled, try await engine.forwardDue(to: target, of: app) > 0
                else { return }
            }
        } catch {
            logger.error("nothing could be sent on", metadata: ["error": "\(error)"])
        }
    }

    private func look() async {
        do { try await engine.lookAtForwards() } catch {
            logger.error("what waits was not looked at", metadata: ["error": "\(error)"])
        }
    }
}
