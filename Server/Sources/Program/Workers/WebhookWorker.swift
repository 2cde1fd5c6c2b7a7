import Engine
import HTTPServer
import Ledger
import Logging
import ServiceLifecycle
import Storage
import Synchronization

/// Delivers events to webhooks, each at its own pace: a slow or unavailable receiver does not delay
/// the others.
final class WebhookWorker: Service {
    /// One webhook of one app.
    private struct Key: Hashable {
        let app: AppID
        let webhook: WebhookID
    }

    /// The worker of a webhook, and whether it is running.
    private struct Line {
        let worker: Worker
        var isRunning = false
    }

    private let engine: @Sendable () -> Engine
    private let pause: Duration
    private let logger: Logger
    private let states: WorkerStates
    private let lines = Mutex<[Key: Line]>([:])
    private let backlog: Worker

    /// - Parameters:
    ///   - engine: returns the engine in force.
    ///   - pause: the time between two checks for new events.
    ///   - states: records successes and failures, for metrics.
    init(
        engine: @escaping @Sendable () -> Engine, pause: Duration = Worker.pause, logger: Logger,
        states: WorkerStates = WorkerStates()
    ) {
        self.engine = engine
        self.pause = pause
        self.logger = logger
        self.states = states
        backlog = Worker(
            .webhooksBacklog, "checking the webhooks' backlog failed",
            every: Worker.backlogPause, logger: logger, states: states
        ) {
            try await engine().webhooks.refreshStates()
            return 0
        }
    }

    /// Repeatedly starts a run for each webhook that has no run in progress. Attempts that a
    /// shutdown interrupts stay due.
    func run() async {
        await cancelWhenGracefulShutdown {
            // A run is started for each webhook every second, for months. So the group must discard
            // the results of ended runs, instead of collecting them.
            await withDiscardingTaskGroup { tasks in
                tasks.addTask { await self.backlog.run() }
                while (try? await Task.sleep(for: self.pause)) != nil {
                    for key in await self.idleKeys() {
                        tasks.addTask { await self.run(key) }
                    }
                }
                tasks.cancelAll()
            }
        }
    }

    /// Returns when everything that was due at the time of the call has been tried, including
    /// attempts that another call started.
    func processDue() async {
        let workers = await keys().map { worker(of: $0) }
        await workers.forEachConcurrently { await $0.processDue() }
        await backlog.processDue()
    }

    private func keys() async -> [Key] {
        do {
            return try await engine().webhooks.all().map { Key(app: $0.app, webhook: $0.id) }
        } catch {
            logger.error("the webhooks could not be read", metadata: ["error": "\(error)"])
            return []
        }
    }

    /// The webhooks without a run, which the caller must start.
    private func idleKeys() async -> [Key] {
        let keys = await keys()
        return lines.withLock { lines in
            lines = lines.filter { $0.value.isRunning || keys.contains($0.key) }
            return keys.filter { key in
                if lines[key] == nil { lines[key] = Line(worker: newWorker(key)) }
                guard lines[key]?.isRunning == false else { return false }
                lines[key]?.isRunning = true
                return true
            }
        }
    }

    private func run(_ key: Key) async {
        await worker(of: key).processDue()
        lines.withLock { $0[key]?.isRunning = false }
    }

    private func worker(of key: Key) -> Worker {
        lines.withLock { lines in
            let line = lines[key] ?? Line(worker: newWorker(key))
            lines[key] = line
            return line.worker
        }
    }

    private func newWorker(_ key: Key) -> Worker {
        let engine = engine
        let find: @Sendable () async throws -> WebhookEndpoint? = {
            try await engine().webhooks.all(of: key.app).first { $0.id == key.webhook }
        }
        let steps = [
            Worker.Step(work: .webhookEvents, failure: "reading events for a webhook failed") {
                guard let webhook = try await find() else { return 0 }
                return try await engine().webhooks.enqueueDeliveries(to: webhook)
            },
            Worker.Step(work: .webhooks, failure: "delivering to a webhook failed") {
                guard let webhook = try await find() else { return 0 }
                return try await engine().webhooks.deliverDue(to: webhook)
            },
        ]
        return Worker(every: pause, logger: logger, states: states) { steps }
    }
}
