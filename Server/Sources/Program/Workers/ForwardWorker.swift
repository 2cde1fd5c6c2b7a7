import Engine
import Logging
import ServiceLifecycle

/// Forwards notifications to other addresses, each at its own pace: a slow or unavailable address
/// does not delay the others.
struct ForwardWorker: Service {
    private let queues: [Worker]
    private let backlog: Worker

    /// - Parameter pause: the time between two checks for due notifications.
    init(engine: Engine, pause: Duration = Worker.pause, logger: Logger) {
        queues = engine.forwardQueues.map { app, target in
            Worker("forwarding notifications failed", every: pause, logger: logger) {
                try await engine.forwardDue(to: target, of: app)
            }
        }
        backlog = Worker(
            "checking the forwarding backlog failed", every: Worker.backlogPause, logger: logger
        ) {
            try await engine.refreshForwardingStates()
            return 0
        }
    }

    func run() async { await (queues + [backlog]).forEachConcurrently { await $0.run() } }

    /// Returns when everything that was due at the call has been tried, including attempts that
    /// another call started.
    func processDue() async { await queues.forEachConcurrently { await $0.processDue() } }
}
