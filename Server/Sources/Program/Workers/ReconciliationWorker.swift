import Engine
import HTTPServer
import Logging
import ServiceLifecycle
import Storage

/// Checks due purchases at the App Store, responds to Apple's consumption requests, and reports
/// claims on seats.
struct ReconciliationWorker: Service {
    /// The number of purchases leased at a time.
    static let batch = 50

    private let checks: Worker
    /// The worker that reports claims on seats. This worker runs beside the checks, because access
    /// does not depend on the reports.
    private let seats: Worker
    /// The workers that read the notification history. These workers run beside the checks, because
    /// a long history must not delay the checks.
    private let walks: [Worker]
    private let backlog: Worker

    /// - Parameters:
    ///   - engine: returns the engine in force, for each batch of work.
    ///   - pause: the time between two checks for due purchases.
    ///   - asksForLost: whether missed notifications are backfilled, too.
    ///   - states: records successes and failures, for metrics.
    init(
        engine: @escaping @Sendable () -> Engine, pause: Duration = Worker.pause,
        asksForLost: Bool = true, logger: Logger, states: WorkerStates = WorkerStates()
    ) {
        let due = [
            Worker.Step(work: .checks, failure: "checking due purchases failed") {
                try await engine().reconciliation.reconcileDue(limit: Self.batch)
            },
            Worker.Step(work: .consumption, failure: "responding to consumption inquiries failed") {
                try await engine().consumption.respondToInquiries()
            },
        ]
        let seatSteps = [
            Worker.Step(work: .seatReports, failure: "reporting claims on seats failed") {
                try await engine().seats.report()
            },
            Worker.Step(
                work: .seatComparisons, failure: "comparing seats with the App Store failed"
            ) {
                try await engine().seats.compare()
            },
        ]
        seats = Worker(every: pause, logger: logger, states: states) { seatSteps }
        let missed = Worker.Step(
            work: .backfill, failure: "backfilling missed notifications failed"
        ) {
            try await engine().backfill.run()
        }
        checks = Worker(every: pause, logger: logger, states: states) {
            guard asksForLost else { return due }
            return engine().backfill.isFailing ? due + [missed] : [missed] + due
        }
        let walk = Worker(
            .history, "reading the notification history failed", every: pause, logger: logger,
            states: states
        ) {
            try await engine().backfill.walkHistory()
        }
        walks = asksForLost ? [walk] : []
        backlog = Worker(
            .checksBacklog, "measuring the backlog of checks failed",
            every: Worker.backlogPause, logger: logger, states: states
        ) {
            try await engine().reconciliation.refreshStates()
            return 0
        }
    }

    func run() async {
        await ([checks, seats, backlog] + walks).forEachConcurrently { await $0.run() }
    }

    /// Returns when no due purchase is left that may be checked now, and when the backlog has been
    /// measured.
    func processDue() async {
        await checks.processDue()
        await seats.processDue()
        await walks.forEachConcurrently { await $0.processDue() }
        await backlog.processDue()
    }
}

extension CheckWorker {
    /// Half of Apple's rate limit for an app, because a check may need two calls.
    static let checksPerSecondDefault = 25

    /// The worker of this process.
    static func ofThisProcess(
        lease: Duration = ReconciliationSettings.lease,
        checksPerSecond: Int = Self.checksPerSecondDefault
    ) -> CheckWorker {
        CheckWorker(
            holder: String(UInt64.random(in: .min ... .max), radix: 36), lease: lease,
            checksPerSecond: checksPerSecond)
    }
}
