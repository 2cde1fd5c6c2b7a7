import Dispatch
import Foundation
import Storage
import Synchronization

/// Threads that each own one `Worker` and take jobs from a shared queue. Jobs block their thread,
/// so they must not run on the threads of Swift concurrency.
///
/// A thread starts when there is a job but no idle thread, and ends when the pool is shut down.
final class WorkerThreads<Worker>: Sendable {
    private static var stackBytes: Int { 1 << 20 }

    /// Work in the queue. The closure is called once, with a worker or with the reason why there is
    /// no worker.
    typealias Job = @Sendable (Result<Worker, StorageFailure>) -> Void

    private struct State {
        var jobs: ArraySlice<Job> = []
        var threads = 0
        var idle = 0
        var isShut = false
    }

    private let threadsMax: Int
    private let queueMax: Int
    private let makeWorker: @Sendable () -> Worker
    private let state = Mutex(State())
    private let available = DispatchSemaphore(value: 0)
    private let ended = DispatchSemaphore(value: 0)

    /// - Parameter queueMax: the maximum number of waiting jobs. Further jobs are rejected.
    /// - Parameter makeWorker: called on the thread that will own the worker.
    init(threadsMax: Int, queueMax: Int, makeWorker: @escaping @Sendable () -> Worker) {
        precondition(threadsMax > 0 && queueMax > 0, "threadsMax and queueMax must be positive")
        self.threadsMax = threadsMax
        self.queueMax = queueMax
        self.makeWorker = makeWorker
    }

    var isShut: Bool { state.withLock { $0.isShut } }

    /// Runs work on one of the threads.
    ///
    /// - Throws: whatever the work throws; ``StorageFailure`` of kind `busy` if the queue is full.
    func run<Value: Sendable>(
        _ work: @escaping @Sendable (Worker) throws -> Value
    ) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            enqueue { worker in
                continuation.resume(with: Result { try work(try worker.get()) })
            }
        }
    }

    private enum Outcome {
        case refused(StorageFailure)
        case queued(needsThread: Bool)
    }

    private func enqueue(_ job: @escaping Job) {
        let outcome: Outcome = state.withLock { state in
            guard !state.isShut else { return .refused(Self.shut) }
            guard state.jobs.count < queueMax + state.idle else { return .refused(busy) }
            state.jobs.append(job)
            let needsThread = state.jobs.count > state.idle && state.threads < threadsMax
            if needsThread {
                state.threads += 1
                // A starting thread counts as idle, so that the next job takes it into account.
                state.idle += 1
            }
            return .queued(needsThread: needsThread)
        }
        switch outcome {
        case .refused(let failure): job(.failure(failure))
        case .queued(let needsThread):
            available.signal()
            if needsThread { startThread() }
        }
    }

    private static var shut: StorageFailure {
        StorageFailure("the database is closed", kind: .unavailable)
    }

    private var busy: StorageFailure {
        StorageFailure("\(queueMax) transactions are already waiting", kind: .busy)
    }

    private func startThread() {
        let thread = Thread { [self] in
            work()
            ended.signal()
        }
        thread.name = "perennial-postgres"
        thread.stackSize = Self.stackBytes
        thread.start()
    }

    private func work() {
        let worker = makeWorker()
        while let job = nextJob() {
            job(.success(worker))
            state.withLock { $0.idle += 1 }
        }
    }

    /// Waits for the next job. Returns nil after the shutdown.
    private func nextJob() -> Job? {
        available.wait()
        return state.withLock { state in
            state.idle -= 1
            return state.jobs.popFirst()
        }
    }

    /// Rejects waiting jobs, and lets each thread end after its current job. Idempotent.
    ///
    /// - Returns: the number of threads, for ``waitForEnd(of:)``.
    @discardableResult
    func shut() -> Int {
        let (waiting, threads) = state.withLock { state in
            guard !state.isShut else { return (ArraySlice<Job>(), 0) }
            state.isShut = true
            defer { state.jobs = [] }
            return (state.jobs, state.threads)
        }
        for job in waiting { job(.failure(Self.shut)) }
        for _ in 0..<threads { available.signal() }
        return threads
    }

    func waitForEnd(of threads: Int) {
        for _ in 0..<threads { ended.wait() }
    }
}
