import Engine
import HTTPServer
import Ledger
import Logging
import ServiceLifecycle
import Synchronization

/// Forwards notifications to other addresses, each at its own pace: a slow or unavailable address
/// does not delay the others.
final class ForwardWorker: Service {
    /// One address of one app.
    private struct Queue: Hashable {
        let app: AppID
        let target: String
    }

    private let engine: @Sendable () -> Engine
    private let pause: Duration
    private let logger: Logger
    private let states: WorkerStates
    private let replacements: AsyncStream<Void>
    private let queues = Mutex<[Queue: Worker]>([:])
    private let backlog: Worker

    /// - Parameters:
    ///   - engine: returns the engine in force.
    ///   - replacements: yields when the engine is replaced, possibly with other addresses.
    ///   - pause: the time between two checks for due notifications.
    ///   - states: records successes and failures, for metrics.
    init(
        engine: @escaping @Sendable () -> Engine,
        replacements: AsyncStream<Void> = AsyncStream { _ in },
        pause: Duration = Worker.pause, logger: Logger, states: WorkerStates = WorkerStates()
    ) {
        self.engine = engine
        self.replacements = replacements
        self.pause = pause
        self.logger = logger
        self.states = states
        backlog = Worker(
            .forwardsBacklog, "checking the forwarding backlog failed",
            every: Worker.backlogPause, logger: logger, states: states
        ) {
            try await engine().forwarding.refreshStates()
            return 0
        }
    }

    /// Runs the workers of all addresses, and starts them again whenever the engine is replaced.
    /// Attempts that are interrupted stay due.
    func run() async {
        await cancelWhenGracefulShutdown {
            var replacements = self.replacements.makeAsyncIterator()
            while !Task.isCancelled {
                let workers = self.workers() + [self.backlog]
                await withTaskGroup(of: Void.self) { tasks in
                    tasks.addTask { await workers.forEachConcurrently { await $0.run() } }
                    await replacements.next()
                    tasks.cancelAll()
                }
            }
        }
    }

    /// Returns when everything that was due at the time of the call has been tried, including
    /// attempts that another call started.
    func processDue() async { await workers().forEachConcurrently { await $0.processDue() } }

    /// The worker of each address of the engine in force. If an address was also in the earlier
    /// configuration, it keeps its worker.
    private func workers() -> [Worker] {
        let wanted = engine().forwarding.queues.map { Queue(app: $0.app, target: $0.target.name) }
        return queues.withLock { queues in
            var kept: [Queue: Worker] = [:]
            for queue in wanted { kept[queue] = queues[queue] ?? worker(of: queue) }
            queues = kept
            return wanted.compactMap { kept[$0] }
        }
    }

    private func worker(of queue: Queue) -> Worker {
        Worker(
            .forwards, "forwarding notifications failed", every: pause, logger: logger,
            states: states
        ) { [engine] in
            let engine = engine()
            let found = engine.forwarding.queues.first {
                $0.app == queue.app && $0.target.name == queue.target
            }
            guard let found else { return 0 }
            return try await engine.forwarding.forwardDue(to: found.target, of: found.app)
        }
    }
}
