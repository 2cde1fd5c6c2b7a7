import Ledger
import Synchronization

/// Lets concurrent writers share one durable commit, because syncing a disk costs the same for one
/// writer as for a hundred.
///
/// The first writer that finds no write in progress becomes the leader: it runs the work of all
/// writers waiting at that moment, including its own, in one transaction. All these writers resume
/// only after the commit. After the commit, the longest-waiting writer leads the next group. There
/// is no background task and no timer, so a single writer never waits.
///
/// Most writers have documents to record, and nothing to read first: the documents of a group are
/// written together, table by table. The closures of other writers run one after the other.
///
/// A failure of one writer, or of one document, does not affect the others: if a writer or document
/// throws, the group is rolled back and run again, with each writer or document in a separate
/// savepoint. In the end, only the rows of the failed writers and documents are missing.
///
/// If another transaction interfered, the group is run again. After repeated interference, it is
/// run in parts, so that only writers that conflict with others are repeated.
///
/// If the database is unavailable, because it is locked or unreachable, all waiting writers fail
/// together with the first. From then on until a write succeeds, one writer at a time tries, and
/// other writers fail at once. So no writer waits for another writer's timeout.
final class GroupCommit: Sendable {
    /// The maximum number of documents and closures in one transaction. The documents of one writer
    /// are never split.
    static let groupMax = 256
    /// The maximum number of waiting documents and closures. Further writers fail with `busy`.
    static let waitingMax = 4096
    /// The maximum number of runs of a group. After this many failed runs, the parts of the group
    /// are run one after the other.
    static let groupRunsMax = 3
    /// The number of parts into which a group is divided after these runs.
    static let partsMax = 4

    private typealias Body = @Sendable (any Connection) throws -> any Sendable
    private typealias Outcome = Result<any Sendable, any Error>

    private enum Work: Sendable {
        case record(Recording)
        case run(Body)

        var recording: Recording? {
            switch self {
            case .record(let recording): recording
            case .run: nil
            }
        }

        var documents: [DocumentWithFacts] { recording?.documents ?? [] }

        var count: Int { recording?.documents.count ?? 1 }
    }

    /// For each document: whether it is new, or why it could not be recorded.
    private typealias RecordResults = [Result<Bool, any Error>]

    private struct Writer {
        var work: Work
        var continuation: CheckedContinuation<Resumption, Never>
    }

    private enum Resumption: Sendable {
        case done(Outcome)
        /// The writer leads the next group.
        case lead
    }

    private struct State {
        var isWriting = false
        private(set) var waiting: [Writer] = []
        /// The number of documents and closures of all waiting writers.
        private(set) var waitingCount = 0
        /// Why the last group could not use the database. Nil if the last group could use it.
        var unavailability: StorageFailure?

        mutating func append(_ writer: Writer) {
            waiting.append(writer)
            waitingCount += writer.work.count
        }

        mutating func dequeueFirst() -> Writer? {
            guard !waiting.isEmpty else { return nil }
            let writer = waiting.removeFirst()
            waitingCount -= writer.work.count
            return writer
        }

        mutating func dequeueAll() -> [Writer] {
            defer { (waiting, waitingCount) = ([], 0) }
            return waiting
        }

        /// Removes and returns the longest-waiting writers: as many as fit into one group.
        mutating func dequeue(room: Int) -> [Writer] {
            var room = room
            let taken = waiting.prefix { writer in
                room -= writer.work.count
                return room >= 0
            }
            waiting.removeFirst(taken.count)
            waitingCount -= taken.reduce(0) { $0 + $1.work.count }
            return Array(taken)
        }
    }

    private let state = Mutex(State())

    /// The number of documents and closures that wait at present.
    var waitingCount: Int { state.withLock { $0.waitingCount } }

    private let database: any DatabaseDriver
    private let mode: WriteMode
    private let observers: CommitObservers
    private let statements = StatementTables()
    let lane: ChangeSignals.Lane

    /// - Parameter mode: the mode of the transactions. A transaction on a snapshot runs as
    ///   serializable if it turns out to need that.
    init(_ database: any DatabaseDriver, _ mode: WriteMode, _ observers: CommitObservers) {
        self.database = database
        self.mode = mode
        self.observers = observers
        lane = observers.signals.addLane()
    }

    /// Runs a closure in a transaction that others may share. Returns or throws after the commit or
    /// rollback.
    func write<Value: Sendable>(
        _ body: @escaping @Sendable (any Connection) throws -> Value
    ) async throws -> Value {
        try await value(of: .run(body))
    }

    /// Records documents with their facts in a transaction that others may share. For each
    /// document, returns false if the document was recorded before, or if it occurs twice in the
    /// list.
    func record(
        _ recording: Recording
    ) async -> [Result<Bool, any Error>] {
        do { return try await value(of: .record(recording)) as RecordResults } catch {
            return recording.documents.map { _ in .failure(error) }
        }
    }

    private func value<Value: Sendable>(of work: Work) async throws -> Value {
        let outcome: Outcome
        switch await waitForTurn(for: work) {
        case .done(let done): outcome = done
        case .lead: outcome = await lead(work)
        }
        guard let value = try outcome.get() as? Value else {
            preconditionFailure("A group commit returned another writer's value.")
        }
        return value
    }

    /// Waits for this writer's turn. Returns at once if no write is in progress, or if too many
    /// writers wait.
    private func waitForTurn(for work: Work) async -> Resumption {
        await withCheckedContinuation { continuation in
            let turn = state.withLock { state -> Resumption? in
                guard state.isWriting else {
                    state.isWriting = true
                    return .lead
                }
                if let absence = state.unavailability { return .done(.failure(absence)) }
                guard state.waitingCount < Self.waitingMax else {
                    return .done(.failure(Self.busy))
                }
                state.append(Writer(work: work, continuation: continuation))
                return nil
            }
            if let turn { continuation.resume(returning: turn) }
        }
    }

    private static let busy = StorageFailure(
        "\(waitingMax) writes are already waiting", kind: .busy)

    private func lead(_ own: Work) async -> Outcome {
        let followers = state.withLock { $0.dequeue(room: Self.groupMax - own.count) }
        let outcomes = await outcomes(of: [own] + followers.map(\.work), mode)
        failWaitingIfUnavailable()
        // Writers that resume may submit more work and join the next group. If that group is full
        // already, start it first.
        let isNextFull = state.withLock { $0.waitingCount >= Self.groupMax }
        if isNextFull { startNextGroup() }
        for (follower, outcome) in zip(followers, outcomes.dropFirst()) {
            follower.continuation.resume(returning: .done(outcome))
        }
        if !isNextFull { startNextGroup() }
        return outcomes[0]
    }

    private func failWaitingIfUnavailable() {
        let (absence, waiting) = state.withLock { state in
            (state.unavailability, state.unavailability == nil ? [] : state.dequeueAll())
        }
        guard let absence else { return }
        for writer in waiting { writer.continuation.resume(returning: .done(.failure(absence))) }
    }

    /// Makes the longest-waiting writer the next leader, if any writer waits.
    private func startNextGroup() {
        let next = state.withLock { state -> Writer? in
            let next = state.dequeueFirst()
            if next == nil { state.isWriting = false }
            return next
        }
        next?.continuation.resume(returning: .lead)
    }

    private func outcomes(of works: [Work], _ mode: WriteMode) async -> [Outcome] {
        let isGroup = works.reduce(0) { $0 + $1.count } > 1
        do {
            return try await attempt(mode, isGroup: isGroup) { try self.runTogether(works, on: $0) }
        } catch {
            switch Remedy(for: error, ofGroup: isGroup, mode) {
            case .separately: break
            case .inParts: return await outcomes(ofPartsOf: works, mode)
            case .serializable: return await outcomes(of: works, .serializable)
            case .none: return works.map { _ in .failure(error) }
            }
        }
        do {
            return try await attempt(mode, isGroup: isGroup) { connection in
                try works.map { try self.runSeparately($0, on: connection) }
            }
        } catch {
            switch Remedy(for: error, ofGroup: isGroup, mode) {
            case .inParts: return await outcomes(ofPartsOf: works, mode)
            case .serializable: return await outcomes(of: works, .serializable)
            case .separately, .none: return works.map { _ in .failure(error) }
            }
        }
    }

    /// What to do after a transaction of a group has failed.
    private enum Remedy {
        /// Run the group again, with each writer in a separate savepoint.
        case separately
        case inParts
        case serializable
        /// Report the failure. A single writer needs no savepoint. A failure of the whole database
        /// would occur again, and take as long again.
        case none

        init(for error: any Error, ofGroup isGroup: Bool, _ mode: WriteMode) {
            switch (error as? StorageFailure)?.kind {
            case .needsSerializable where mode.isolation != .serializable: self = .serializable
            case .conflict where isGroup: self = .inParts
            case .busy, .unavailable, .conflict, .needsSerializable: self = .none
            case .constraint, .erased, .other, nil: self = isGroup ? .separately : .none
            }
        }
    }

    private func outcomes(ofPartsOf works: [Work], _ mode: WriteMode) async -> [Outcome] {
        if works.count == 1 { return [await outcome(ofPartsOf: works[0], mode)] }
        var outcomes: [Outcome] = []
        for part in works.parts(Self.partsMax) {
            if let absence = state.withLock({ $0.unavailability }) {
                outcomes += part.map { _ in .failure(absence) }
            } else {
                outcomes += await self.outcomes(of: Array(part), mode)
            }
        }
        return outcomes
    }

    /// The outcome of one writer's work, done in parts: each of its documents is recorded or
    /// refused separately.
    private func outcome(ofPartsOf work: Work, _ mode: WriteMode) async -> Outcome {
        guard let recording = work.recording else {
            preconditionFailure("A closure has no parts.")
        }
        let parts = recording.documents.parts(Self.partsMax).map { part in
            var recording = recording
            recording.documents = Array(part)
            return Work.record(recording)
        }
        var results: RecordResults = []
        for (part, outcome) in zip(parts, await outcomes(ofPartsOf: parts, mode)) {
            do {
                guard let known = try outcome.get() as? RecordResults else {
                    preconditionFailure("A group commit returned another writer's value.")
                }
                results += known
            } catch {
                results += part.documents.map { _ in .failure(error) }
            }
        }
        return .success(results)
    }

    /// Runs a transaction for a whole group, and records whether the database was available.
    private func attempt(
        _ mode: WriteMode, isGroup: Bool,
        _ body: @escaping @Sendable (any Connection) throws -> [Outcome]
    ) async throws -> [Outcome] {
        var mode = mode
        if isGroup { mode.runs = Self.groupRunsMax }
        do {
            let onSnapshot = mode.isolation == .snapshot
            let outcomes = try await database.write(mode) { [statements] connection in
                try body(onSnapshot ? SnapshotConnection(connection, statements) : connection)
            }
            state.withLock { $0.unavailability = nil }
            observers.recordCommit(in: lane)
            return outcomes
        } catch {
            observers.health.recordFailure(error)
            let failure = (error as? StorageFailure).flatMap { $0.isUnavailability ? $0 : nil }
            state.withLock { $0.unavailability = failure }
            throw error
        }
    }

    private func runTogether(
        _ works: [Work], on connection: any Connection
    ) throws -> [Outcome] {
        // If the configuration was replaced a moment ago, the rules of the latest writer apply.
        var isNew: ArraySlice<Bool> = []
        if let last = works.compactMap(\.recording).last {
            let tx = DatabaseSession(connection, last.rules.writing(in: lane))
            isNew = try last.recorder(tx, works.flatMap(\.documents))[...]
        }
        return try works.map { work in
            switch work {
            case .record(let recording):
                let count = recording.documents.count
                let kept: RecordResults = isNew.prefix(count).map { .success($0) }
                isNew.removeFirst(count)
                return .success(kept)
            case .run(let body): return .success(try body(connection))
            }
        }
    }

    private func runSeparately(_ work: Work, on connection: any Connection) throws -> Outcome {
        switch work {
        case .record(let recording):
            let rules = recording.rules.writing(in: lane)
            let kept: RecordResults = try recording.documents.map { document in
                try inSavepoint(on: connection) {
                    try recording.recorder(DatabaseSession(connection, rules), [document])[0]
                }
            }
            return .success(kept)
        case .run(let body): return try inSavepoint(on: connection) { try body(connection) }
        }
    }

    /// Runs a closure in a savepoint: if it throws, only its own rows are rolled back.
    private func inSavepoint<Value>(
        on connection: any Connection, _ body: () throws -> Value
    ) throws -> Result<Value, any Error> {
        try connection.run("SAVEPOINT writer", [])
        do {
            let value = try body()
            try connection.run("RELEASE SAVEPOINT writer", [])
            return .success(value)
        } catch let failure as StorageFailure where failure.affectsWholeTransaction {
            throw failure
        } catch {
            observers.health.recordFailure(error)
            try connection.run("ROLLBACK TO SAVEPOINT writer", [])
            try connection.run("RELEASE SAVEPOINT writer", [])
            return .failure(error)
        }
    }
}

extension StorageFailure {
    /// Whether the database is locked, full or unreachable. In such a state, the next writer would
    /// wait as long as this one, and also fail.
    fileprivate var isUnavailability: Bool { kind == .busy || kind == .unavailable }

    /// Whether the failure concerns the whole transaction, not one writer. After such a failure,
    /// another run may succeed.
    fileprivate var affectsWholeTransaction: Bool {
        switch kind {
        case .busy, .conflict, .unavailable, .needsSerializable: true
        case .constraint, .erased, .other: false
        }
    }
}

extension Array {
    /// The elements in order, divided into at most this number of parts of about the same size.
    fileprivate func parts(_ count: Int) -> [ArraySlice<Element>] {
        let size = Swift.max(1, (self.count + count - 1) / count)
        return stride(from: 0, to: self.count, by: size).map {
            self[$0..<Swift.min($0 + size, self.count)]
        }
    }
}
