import Engine
import Logging
import ServiceLifecycle

/// Asks the App Store about what is due, again and again. Any number of servers may do so on one
/// database.
actor Reconciler: Service {
    /// Purchases taken at a time.
    static let batch = 50
    /// Batches after which it looks around, although more is due.
    static let batchesMax = 200
    static let pause = Duration.seconds(1)
    /// Between two looks at how much is due.
    static let lookPause = Duration.seconds(5)

    private let engine: Engine
    private let pause: Duration
    private let asksForLost: Bool
    private let logger: Logger
    private let line = WaitingLine()
    private let walkLine = WaitingLine()

    /// - Parameters:
    ///   - pause: between two looks for what is due.
    ///   - asksForLost: whether notifications that did not reach us are asked for as well.
    init(
        engine: Engine, pause: Duration = Reconciler.pause, asksForLost: Bool = true,
        logger: Logger
    ) {
        self.engine = engine
        self.pause = pause
        self.asksForLost = asksForLost
        self.logger = logger
    }

    func run() async throws {
        await withTaskGroup(of: Void.self) { tasks in
            tasks.addTask { [pause] in await repeating(every: pause) { await self.ask() } }
            tasks.addTask { await repeating(every: Self.lookPause) { await self.look() } }
            // Beside the others: a long history must not keep what is due from being asked.
            guard asksForLost else { return }
            tasks.addTask { [pause] in await repeating(every: pause) { await self.walk() } }
        }
    }

    /// Returns when nothing is due that may be asked now, and what is left was looked at.
    func settle() async {
        await ask()
        if asksForLost { await walk() }
        await look()
    }

    /// Callers wait for each other, so that each finds everything done that was due when it came.
    private func ask() async {
        await line.join()
        defer { line.leave() }
        do {
            let isLate = engine.isCatchingUpFailing
            if asksForLost, !isLate { await catchUp() }
            for _ in 0..<Self.batchesMax {
                guard !Task.isCancelled, try await engine.reconcileDue(limit: Self.batch) > 0
                else { break }
            }
            for _ in 0..<Self.batchesMax {
                guard !Task.isCancelled, try await engine.answerQuestions() > 0 else { break }
            }
            if asksForLost, isLate { await catchUp() }
        } catch {
            logger.error("what is due was not asked", metadata: ["error": "\(error)"])
        }
    }

    /// Callers wait for each other, so that nobody finds a walk half done.
    private func walk() async {
        await walkLine.join()
        defer { walkLine.leave() }
        do { try await engine.walkHistory() } catch {
            logger.error("the history was not read", metadata: ["error": "\(error)"])
        }
    }

    private func look() async {
        do { try await engine.lookAtBacklog() } catch {
            logger.error("what is due was not looked at", metadata: ["error": "\(error)"])
        }
    }

    /// What is lost keeps nobody from asking about what is due.
    private func catchUp() async {
        do { try await engine.catchUp() } catch {
            logger.error("lost notifications were not kept", metadata: ["error": "\(error)"])
        }
    }
}

extension CheckWorker {
    /// Half of what Apple allows an app each second, since a check may take two calls.
    static let checksPerSecondDefault = 25

    /// This process.
    static func ofThisProcess(
        lease: Duration = Asking.lease, checksPerSecond: Int = Self.checksPerSecondDefault
    ) -> CheckWorker {
        CheckWorker(
            holder: String(UInt64.random(in: .min ... .max), radix: 36), lease: lease,
            checksPerSecond: checksPerSecond)
    }
}
