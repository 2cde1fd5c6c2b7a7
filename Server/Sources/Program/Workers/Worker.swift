import Engine
import HTTPServer
import Ledger
import Logging
import ServiceLifecycle

/// A loop that does due work until the program shuts down. A shutdown cancels work in progress. Any
/// number of servers may run such a loop on one database.
///
/// Each run does all steps in order, each in batches until nothing is due. After each run, the loop
/// pauses. The pauses grow while every step fails, for example because the database is unavailable.
final class Worker: Service {
    /// The maximum number of batches of a step in one run, even if more is due.
    static let batchesMax = 1_000
    static let pause = Duration.seconds(1)
    /// The longest pause after failures, unless the pause between runs is longer.
    static let failurePauseMax = Duration.seconds(15)
    /// The time between two checks of a backlog.
    static let backlogPause = Duration.seconds(5)

    /// One kind of work that the loop does.
    struct Step: Sendable {
        /// What the step does, for metrics.
        let work: Work
        /// The log message if a batch fails.
        let failure: Logger.Message
        /// Does a batch of due work and returns its size; 0 if nothing is left.
        let batch: @Sendable () async throws -> Int
    }

    private let pause: Duration
    private let pausesFirst: Bool
    private let logger: Logger
    private let states: WorkerStates
    private let steps: @Sendable () -> [Step]
    private let line = KeyedLock()

    /// - Parameters:
    ///   - pausesFirst: whether to pause before the first run, too.
    ///   - states: records successes and failures, for metrics.
    ///   - steps: returns the steps of the next run.
    init(
        every pause: Duration, pausesFirst: Bool = false, logger: Logger,
        states: WorkerStates = WorkerStates(),
        steps: @escaping @Sendable () -> [Step]
    ) {
        self.pause = pause
        self.pausesFirst = pausesFirst
        self.logger = logger
        self.states = states
        self.steps = steps
    }

    /// A worker with one step.
    convenience init(
        _ work: Work, _ failure: Logger.Message, every pause: Duration, logger: Logger,
        states: WorkerStates = WorkerStates(), batch: @escaping @Sendable () async throws -> Int
    ) {
        self.init(every: pause, logger: logger, states: states) {
            [Step(work: work, failure: failure, batch: batch)]
        }
    }

    func run() async {
        await cancelWhenGracefulShutdown {
            var failures = 0
            var wait = self.pausesFirst ? self.pause : .zero
            while (try? await Task.sleep(for: wait)) != nil {
                failures = await self.processDue() ? 0 : failures + 1
                wait = self.pause(after: failures)
            }
        }
    }

    /// The pause before the next run.
    ///
    /// - Parameter failures: the number of runs in a row in which every step failed.
    func pause(after failures: Int) -> Duration {
        let backoff = ExponentialBackoff(first: pause, longest: Self.failurePauseMax)
        return max(pause, backoff.delay(after: failures))
    }

    /// Does one run. Concurrent calls run one after the other. So everything that was due at the
    /// time of a call is done when the function returns. Returns false if every step failed.
    @discardableResult
    func processDue() async -> Bool {
        await line.lock()
        defer { line.unlock() }
        var isFailing = true
        for step in steps() {
            if await run(step) { isFailing = false }
        }
        return !isFailing
    }

    /// Runs a step in batches until nothing is due. Returns false if the first batch failed.
    private func run(_ step: Step) async -> Bool {
        var batches = 0
        do {
            while batches < Self.batchesMax, !Task.isCancelled {
                let count = try await step.batch()
                states.recordSuccess(of: step.work.rawValue, at: .machine)
                guard count > 0 else { break }
                batches += 1
            }
            return true
        } catch {
            states.recordFailure(of: step.work.rawValue)
            logger.error(step.failure, metadata: ["error": "\(error)"])
            return batches > 0
        }
    }
}

extension [Worker] {
    /// Calls a function for all workers concurrently, and returns when all calls have returned.
    func forEachConcurrently(_ body: @escaping @Sendable (Worker) async -> Void) async {
        await withTaskGroup(of: Void.self) { tasks in
            for worker in self { tasks.addTask { await body(worker) } }
        }
    }
}

extension Worker {
    /// Emits time-based events when they become due, such as the end of access that no notification
    /// announced. Also numbers every committed event.
    ///
    /// - Parameter engine: returns the engine in force, for each batch of work.
    static func transitions(
        engine: @escaping @Sendable () -> Engine, pause: Duration = pause, logger: Logger,
        states: WorkerStates = WorkerStates()
    ) -> Worker {
        let steps = [
            Step(work: .transitions, failure: "emitting time-based events failed") {
                try await engine().events.emitTimeBased()
            },
            Step(work: .money, failure: "deriving rows about money failed") {
                try await engine().reporting.fillMoney()
            },
            Step(work: .moneySums, failure: "adding up movements of money failed") {
                try await engine().reporting.addUpMoney()
            },
            Step(work: .numbering, failure: "events were not numbered") {
                try await engine().events.numberEvents()
                return 0
            },
            Step(work: .customerRows, failure: "writing rows about customers failed") {
                try await engine().customers.show()
            },
        ]
        return Worker(every: pause, logger: logger, states: states) { steps }
    }

    /// Records when keys were last used, and learns which keys were created in the meantime.
    static func keyUses(
        of server: @escaping @Sendable () -> PerennialServer, logger: Logger, states: WorkerStates
    ) -> Worker {
        Worker(
            .keyUses, "recording the use of keys failed", every: .seconds(60), logger: logger,
            states: states
        ) {
            let server = server()
            try await server.recordKeyUses()
            try await server.learnKeys(of: server.engine)
            return 0
        }
    }

    /// Fetches the App Store's report files, as soon as Apple should have them.
    static func reports(
        engine: @escaping @Sendable () -> Engine, logger: Logger,
        states: WorkerStates = WorkerStates()
    ) -> Worker {
        Worker(
            .appleReports, "fetching report files failed", every: .seconds(60), logger: logger,
            states: states
        ) {
            try await engine().appleReports.fetch()
        }
    }

    /// Keeps the database's statistics up to date while its tables grow quickly.
    static func statistics(
        engine: Engine, logger: Logger, states: WorkerStates = WorkerStates()
    ) -> Worker {
        let step = Step(work: .statistics, failure: "collecting statistics of tables failed") {
            _ = try await engine.maintenance.refreshStatistics()
            return 0
        }
        return Worker(every: .seconds(1), logger: logger, states: states) { [step] }
    }

    /// Creates the tables of coming months daily, if the database stores documents by month. The
    /// tables reach three months ahead. The worker pauses first: the start of the server has just
    /// created the tables, or could not create them because another process held a lock.
    static func partitions(
        engine: Engine, logger: Logger, states: WorkerStates = WorkerStates()
    ) -> Worker {
        let step = Step(work: .partitions, failure: "creating tables of coming months failed") {
            try await engine.maintenance.createPartitions()
            return 0
        }
        return Worker(
            every: .seconds(86_400), pausesFirst: true, logger: logger, states: states
        ) { [step] }
    }

    /// The time between two searches for rows that have been stored for long enough.
    static let retentionPause = Duration.seconds(3_600)

    /// Deletes rows that have expired, and what was stored for longer than configured.
    static func retention(
        engine: @escaping @Sendable () -> Engine, logger: Logger,
        states: WorkerStates = WorkerStates()
    ) -> Worker {
        let steps = [
            Step(work: .retention, failure: "deleting expired rows failed") {
                try await engine().retention.requireClock()
                return try await engine().retention.deleteExpiredSignIns()
            },
            Step(work: .retention, failure: "deleting old entries of the audit failed") {
                try await engine().retention.requireClock()
                return try await engine().retention.deleteOldAuditEntries()
            },
            Step(work: .retention, failure: "deleting old test purchases failed") {
                try await engine().retention.requireClock()
                return try await engine().retention.forgetSandboxPurchases()
            },
        ]
        return Worker(every: retentionPause, logger: logger, states: states) { steps }
    }

    /// The time between two measurements of the database.
    static let measurementPause = Duration.seconds(15)

    /// Measures the database, for metrics.
    static func measurements(
        engine: @escaping @Sendable () -> Engine, logger: Logger,
        states: WorkerStates = WorkerStates()
    ) -> Worker {
        Worker(
            .measurements, "measuring the database failed", every: measurementPause,
            logger: logger, states: states
        ) {
            let engine = engine()
            try await engine.measurements.refresh(isReady: await engine.isReady())
            return 0
        }
    }
}
