import Engine
import Ledger
import Logging
import ServiceLifecycle

/// Forwards notifications to other addresses, each at its own pace: a slow or unavailable address
/// does not delay the others. Any number of servers may do this on one database.
actor ForwardWorker: Service {
    /// The maximum number of rounds per run of one address's queue, even if more is due.
    static let roundsMax = 1_000
    static let pause = Duration.seconds(1)
    /// The time between two checks of the backlog.
    static let backlogPause = Duration.seconds(5)

    private let engine: Engine
    private let pause: Duration
    private let logger: Logger
    /// One waiting line per address.
    private let line = KeyedLock()

    /// - Parameter pause: the time between two checks for due notifications.
    init(engine: Engine, pause: Duration = ForwardWorker.pause, logger: Logger) {
        self.engine = engine
        self.pause = pause
        self.logger = logger
    }

    func run() async throws {
        await withTaskGroup(of: Void.self) { tasks in
            for (app, target) in engine.forwardQueues {
                tasks.addTask { [pause] in
                    await runPeriodically(every: pause) { await self.processDue(target, of: app) }
                }
            }
            tasks.addTask {
                await runPeriodically(every: Self.backlogPause) { await self.refreshBacklog() }
            }
        }
    }

    /// Returns when everything that was due at the call has been tried, including attempts that
    /// another call started.
    func processDue() async {
        await withTaskGroup(of: Void.self) { tasks in
            for (app, target) in engine.forwardQueues {
                tasks.addTask { await self.processDue(target, of: app) }
            }
        }
    }

    private func processDue(_ target: ForwardTarget, of app: AppID) async {
        let queue = "\(app) \(target.name)"
        await line.lock(at: queue)
        defer { line.unlock(at: queue) }
        do {
            for _ in 0..<Self.roundsMax {
                guard !Task.isCancelled, try await engine.forwardDue(to: target, of: app) > 0
                else { return }
            }
        } catch {
            logger.error("forwarding notifications failed", metadata: ["error": "\(error)"])
        }
    }

    private func refreshBacklog() async {
        do { try await engine.refreshForwardingStates() } catch {
            logger.error("checking the forwarding backlog failed", metadata: ["error": "\(error)"])
        }
    }
}
