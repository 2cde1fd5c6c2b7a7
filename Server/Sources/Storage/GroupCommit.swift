import Ledger
import Synchronization

/// Lets writers that come at the same time share one durable commit: syncing a disk costs the same
/// for one as for a hundred.
///
/// The first writer that finds nobody writing leads: it takes all who wait by then into one
/// transaction, itself among them, and everyone is answered only after that has been committed.
/// Then the next who waits leads. There is no task of its own, and no timer: a writer alone waits
/// for nobody.
///
/// Most writers have documents to keep, and nothing to ask before: those of a group are written
/// together, table by table. The others' closures run one after the other.
///
/// One writer's failure is not the others', nor one document's: a group in which one throws is
/// undone and run again, each alone within a savepoint, so that only the rows of those that throw
/// are missing.
///
/// Where the database cannot be had, because it is locked or away, all who wait are told so with
/// the first. From then on one writer at a time tries, and whoever comes meanwhile is refused at
/// once, until a write succeeds: nobody waits behind somebody else's wait.
final class GroupCommit: Sendable {
    /// Documents and closures in one transaction; those of one writer are never parted.
    static let groupMax = 256
    /// Documents and closures that wait; who comes then is told that the database is busy.
    static let waitingMax = 4096

    private typealias Body = @Sendable (any Connection) throws -> any Sendable
    private typealias Outcome = Result<any Sendable, any Error>

    private enum Work: Sendable {
        case keep([AttestedDocument])
        case run(Body)

        var documents: [AttestedDocument] {
            switch self {
            case .keep(let documents): documents
            case .run: []
            }
        }

        var count: Int {
            switch self {
            case .keep(let documents): documents.count
            case .run: 1
            }
        }
    }

    /// For each document whether it is new, or why it could not be kept.
    private typealias Kept = [Result<Bool, any Error>]

    private struct Writer {
        var work: Work
        var turn: CheckedContinuation<Turn, Never>
    }

    private enum Turn: Sendable {
        case done(Outcome)
        /// Lead the group that comes next.
        case lead
    }

    private struct State {
        var isWriting = false
        private(set) var waiting: [Writer] = []
        /// Documents and closures of all who wait.
        private(set) var waitingCount = 0
        /// Why the last group could not have the database; nil after one that could.
        var absence: StorageFailure?

        mutating func append(_ writer: Writer) {
            waiting.append(writer)
            waitingCount += writer.work.count
        }

        mutating func takeFirst() -> Writer? {
            guard !waiting.isEmpty else { return nil }
            let writer = waiting.removeFirst()
            waitingCount -= writer.work.count
            return writer
        }

        mutating func takeAll() -> [Writer] {
            defer { (waiting, waitingCount) = ([], 0) }
            return waiting
        }

        /// Those who have waited longest, as many as there is room for.
        mutating func take(room: Int) -> [Writer] {
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
    let health = WriteHealth()
    private let database: any Database
    private let rules: StoreRules

    init(_ database: any Database, _ rules: StoreRules) {
        self.database = database
        self.rules = rules
    }

    /// Runs a body in a transaction that others may share. Returns, or throws, after it was
    /// committed or undone.
    func write<Value: Sendable>(
        _ body: @escaping @Sendable (any Connection) throws -> Value
    ) async throws -> Value {
        try await value(of: .run(body))
    }

    /// Keeps documents with their facts in a transaction that others may share. For each, false
    /// where it was kept before, or stands twice among them.
    func keep(_ attested: [AttestedDocument]) async -> [Result<Bool, any Error>] {
        do { return try await value(of: .keep(attested)) as Kept } catch {
            return attested.map { _ in .failure(error) }
        }
    }

    private func value<Value: Sendable>(of work: Work) async throws -> Value {
        let outcome: Outcome
        switch await turn(for: work) {
        case .done(let done): outcome = done
        case .lead: outcome = await lead(work)
        }
        guard let value = try outcome.get() as? Value else {
            preconditionFailure("A group's commit answered one writer with another's value.")
        }
        return value
    }

    /// Returns at once where nobody writes, or too many wait; else when it is this writer's turn.
    private func turn(for work: Work) async -> Turn {
        await withCheckedContinuation { continuation in
            let turn = state.withLock { state -> Turn? in
                guard state.isWriting else {
                    state.isWriting = true
                    return .lead
                }
                if let absence = state.absence { return .done(.failure(absence)) }
                guard state.waitingCount < Self.waitingMax else {
                    return .done(.failure(Self.busy))
                }
                state.append(Writer(work: work, turn: continuation))
                return nil
            }
            if let turn { continuation.resume(returning: turn) }
        }
    }

    private static let busy = StorageFailure("\(waitingMax) writes wait already", kind: .busy)

    private func lead(_ own: Work) async -> Outcome {
        let followers = state.withLock { $0.take(room: Self.groupMax - own.count) }
        let outcomes = await outcomes(of: [own] + followers.map(\.work))
        refuseAllIfAbsent()
        // Whoever is told may come again and join the next group; a full one need not wait for it.
        let isNextFull = state.withLock { $0.waitingCount >= Self.groupMax }
        if isNextFull { passOn() }
        for (follower, outcome) in zip(followers, outcomes.dropFirst()) {
            follower.turn.resume(returning: .done(outcome))
        }
        if !isNextFull { passOn() }
        return outcomes[0]
    }

    private func refuseAllIfAbsent() {
        let (absence, waiting) = state.withLock { state in
            (state.absence, state.absence == nil ? [] : state.takeAll())
        }
        guard let absence else { return }
        for writer in waiting { writer.turn.resume(returning: .done(.failure(absence))) }
    }

    /// Lets the one who has waited longest lead, or nobody.
    private func passOn() {
        let next = state.withLock { state -> Writer? in
            let next = state.takeFirst()
            if next == nil { state.isWriting = false }
            return next
        }
        next?.turn.resume(returning: .lead)
    }

    private func outcomes(of works: [Work]) async -> [Outcome] {
        do {
            return try await attempt { try self.together(works, on: $0) }
        } catch {
            // Alone there is nobody to be kept apart from; and what is nobody's own failure would
            // come again, after as long a time.
            let isEverybodys = (error as? StorageFailure)?.concernsTheWhole ?? false
            guard works.reduce(0, { $0 + $1.count }) > 1, !isEverybodys else {
                return works.map { _ in .failure(error) }
            }
        }
        do {
            return try await attempt { connection in
                try works.map { try self.apart($0, on: connection) }
            }
        } catch {
            return works.map { _ in .failure(error) }
        }
    }

    /// A transaction of a whole group; notes whether the database could be had.
    private func attempt(
        _ body: @escaping @Sendable (any Connection) throws -> [Outcome]
    ) async throws -> [Outcome] {
        do {
            let outcomes = try await database.write(body)
            state.withLock { $0.absence = nil }
            return outcomes
        } catch {
            health.note(error)
            let failure = (error as? StorageFailure).flatMap { $0.isAbsence ? $0 : nil }
            state.withLock { $0.absence = failure }
            throw error
        }
    }

    private func together(
        _ works: [Work], on connection: any Connection
    ) throws -> [Outcome] {
        let documents = works.flatMap(\.documents)
        var isNew = try StoreTransaction(connection, rules).keep(documents)[...]
        return try works.map { work in
            switch work {
            case .keep(let documents):
                let kept: Kept = isNew.prefix(documents.count).map { .success($0) }
                isNew.removeFirst(documents.count)
                return .success(kept)
            case .run(let body): return .success(try body(connection))
            }
        }
    }

    private func apart(_ work: Work, on connection: any Connection) throws -> Outcome {
        switch work {
        case .keep(let documents):
            let kept: Kept = try documents.map { document in
                try alone(on: connection) {
                    try StoreTransaction(connection, rules).keep(document)
                }
            }
            return .success(kept)
        case .run(let body): return try alone(on: connection) { try body(connection) }
        }
    }

    /// Within a savepoint: what it throws undoes its own rows only.
    private func alone<Value>(
        on connection: any Connection, _ body: () throws -> Value
    ) throws -> Result<Value, any Error> {
        try connection.run("SAVEPOINT writer", [])
        do {
            let value = try body()
            try connection.run("RELEASE SAVEPOINT writer", [])
            return .success(value)
        } catch let failure as StorageFailure where failure.concernsTheWhole {
            throw failure
        } catch {
            health.note(error)
            try connection.run("ROLLBACK TO SAVEPOINT writer", [])
            try connection.run("RELEASE SAVEPOINT writer", [])
            return .failure(error)
        }
    }
}

extension StorageFailure {
    /// The database is locked, full or away: the next writer would wait as long in vain.
    fileprivate var isAbsence: Bool { kind == .busy || kind == .unavailable }

    /// Not one writer's failure, but the transaction's: run again as a whole it may succeed.
    fileprivate var concernsTheWhole: Bool {
        switch kind {
        case .busy, .conflict, .unavailable: true
        case .constraint, .erased, .other: false
        }
    }
}
