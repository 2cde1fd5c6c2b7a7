import Synchronization

/// Lets writers that come at the same time share one durable commit: syncing a disk costs the same
/// for one as for a hundred.
///
/// The first writer that finds nobody writing leads: it takes all who wait by then into one
/// transaction, itself among them, and everyone is answered only after that has been committed.
/// Then the next who waits leads. There is no task of its own, and no timer: a writer alone waits
/// for nobody.
///
/// One writer's failure is not the others': a group in which one throws is undone and run again,
/// each within a savepoint, so that only the rows of those who throw are missing.
final class GroupCommit: Sendable {
    /// Writers in one transaction.
    static let groupMax = 256
    /// Writers that wait; one more is told that the database is busy.
    static let waitingMax = 4096

    typealias Body = @Sendable (any Connection) throws -> any Sendable
    private typealias Outcome = Result<any Sendable, any Error>

    private struct Writer {
        var body: Body
        var turn: CheckedContinuation<Turn, Never>
    }

    private enum Turn: Sendable {
        case done(Outcome)
        /// Lead the group that comes next.
        case lead
    }

    private struct State {
        var isWriting = false
        var waiting: [Writer] = []
    }

    private let state = Mutex(State())
    private let database: any Database

    init(_ database: any Database) { self.database = database }

    /// Runs a body in a transaction that others may share. Returns, or throws, after it was
    /// committed or undone.
    func write(_ body: @escaping Body) async throws -> any Sendable {
        switch await turn(for: body) {
        case .done(let outcome): return try outcome.get()
        case .lead: return try await lead(body).get()
        }
    }

    /// Returns at once where nobody writes, or too many wait; else when it is this writer's turn.
    private func turn(for body: @escaping Body) async -> Turn {
        await withCheckedContinuation { continuation in
            let turn = state.withLock { state -> Turn? in
                guard state.isWriting else {
                    state.isWriting = true
                    return .lead
                }
                guard state.waiting.count < Self.waitingMax else {
                    return .done(.failure(Self.busy))
                }
                state.waiting.append(Writer(body: body, turn: continuation))
                return nil
            }
            if let turn { continuation.resume(returning: turn) }
        }
    }

    private static let busy = StorageFailure("\(waitingMax) writers wait already", kind: .busy)

    private func lead(_ own: @escaping Body) async -> Outcome {
        let followers = state.withLock { state in
            let taken = Array(state.waiting.prefix(Self.groupMax - 1))
            state.waiting.removeFirst(taken.count)
            return taken
        }
        let outcomes = await outcomes(of: [own] + followers.map(\.body))
        for (follower, outcome) in zip(followers, outcomes.dropFirst()) {
            follower.turn.resume(returning: .done(outcome))
        }
        passOn()
        return outcomes[0]
    }

    /// Lets the one who has waited longest lead, or nobody.
    private func passOn() {
        let next = state.withLock { state -> Writer? in
            guard !state.waiting.isEmpty else {
                state.isWriting = false
                return nil
            }
            return state.waiting.removeFirst()
        }
        next?.turn.resume(returning: .lead)
    }

    private func outcomes(of bodies: [Body]) async -> [Outcome] {
        do {
            return try await database.write { connection in
                try bodies.map { .success(try $0(connection)) }
            }
        } catch {
            // Alone there is nobody to be kept apart from.
            guard bodies.count > 1 else { return [.failure(error)] }
        }
        do {
            return try await database.write { connection in
                try bodies.map { try Self.apart($0, on: connection) }
            }
        } catch {
            return bodies.map { _ in .failure(error) }
        }
    }

    private static func apart(_ body: Body, on connection: any Connection) throws -> Outcome {
        try connection.run("SAVEPOINT writer", [])
        do {
            let value = try body(connection)
            try connection.run("RELEASE SAVEPOINT writer", [])
            return .success(value)
        } catch let failure as StorageFailure where failure.concernsTheWhole {
            throw failure
        } catch {
            try connection.run("ROLLBACK TO SAVEPOINT writer", [])
            try connection.run("RELEASE SAVEPOINT writer", [])
            return .failure(error)
        }
    }
}

extension StorageFailure {
    /// Not one writer's failure, but the transaction's: run again as a whole it may succeed.
    fileprivate var concernsTheWhole: Bool {
        switch kind {
        case .busy, .conflict, .unavailable: true
        case .constraint, .other: false
        }
    }
}
