import Engine
import Logging
import ServiceLifecycle

/// Checks due purchases with the App Store, periodically. Any number of servers may do this on one
/// database.
actor ReconciliationWorker: Service {
    /// The number of purchases leased at a time.
    static let batch = 50
    /// The maximum number of batches per run, even if more is due.
    static let batchesMax = 200
    static let pause = Duration.seconds(1)
    /// The time between two checks of the backlog.
    static let backlogPause = Duration.seconds(5)

    private let engine: Engine
    private let pause: Duration
    private let asksForLost: Bool
    private let logger: Logger
    private let line = KeyedLock()
    private let walkLine = KeyedLock()

    /// - Parameters:
    /// - pause: the time between two checks for due purchases.
    /// - asksForLost: whether missed notifications are backfilled too.
    init(
        engine: Engine, pause: Duration = ReconciliationWorker.pause, asksForLost: Bool = true,
        logger: Logger
    ) {
        self.engine = engine
        self.pause = pause
        self.asksForLost = asksForLost
        self.logger = logger
    }

    func run() async throws {
        await withTaskGroup(of: Void.self) { tasks in
            tasks.addTask { [pause] in await runPeriodically(every: pause) { await self.checkDue() }
            }
            tasks.addTask {
                await runPeriodically(every: Self.backlogPause) { await self.refreshBacklog() }
            }
            // Runs concurrently, because a long history must not delay due checks.
            guard asksForLost else { return }
            tasks.addTask { [pause] in
                await runPeriodically(every: pause) { await self.walkHistory() }
            }
        }
    }

    /// Returns when nothing is due that may be checked now, and the backlog has been measured.
    func processDue() async {
        await checkDue()
        if asksForLost { await walkHistory() }
        await refreshBacklog()
    }

    /// Callers wait for each other. So when it returns, everything is done that was due at the
    /// call.
    private func checkDue() async {
        await line.lock()
        defer { line.unlock() }
        do {
            let isLate = engine.isBackfillFailing
            if asksForLost, !isLate { await catchUp() }
            for _ in 0..<Self.batchesMax {
                guard !Task.isCancelled, try await engine.reconcileDue(limit: Self.batch) > 0
                else { break }
            }
            for _ in 0..<Self.batchesMax {
                guard !Task.isCancelled, try await engine.respondToConsumptionInquiries() > 0 else {
                    break
                }
            }
            if asksForLost, isLate { await catchUp() }
        } catch {
            logger.error("checking due purchases failed", metadata: ["error": "\(error)"])
        }
    }

    /// Callers wait for each other, so that none returns during another's unfinished walk.
    private func walkHistory() async {
        await walkLine.lock()
        defer { walkLine.unlock() }
        do { try await engine.walkHistory() } catch {
            logger.error("reading the notification history failed", metadata: ["error": "\(error)"])
        }
    }

    private func refreshBacklog() async {
        do { try await engine.refreshReconciliationStates() } catch {
            logger.error("measuring the backlog of checks failed", metadata: ["error": "\(error)"])
        }
    }

    /// A failure here must not prevent the checks of due purchases.
    private func catchUp() async {
        do { try await engine.backfill() } catch {
            logger.error("backfilling missed notifications failed", metadata: ["error": "\(error)"])
        }
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
