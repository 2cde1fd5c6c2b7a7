import CLibPQ
import Storage

extension PostgresSession: Connection {
    /// Runs of a statement that travel together. While it waits to send, libpq reads what comes:
    /// neither side waits for the other for ever.
    static let pipelineRunsMax = 128

    var dialect: Dialect { .postgres }

    func rows(_ sql: String, _ values: [Value]) throws(StorageFailure) -> [Row] {
        try execute(sql, values).rows()
    }

    func run(_ sql: String, _ values: [Value]) throws(StorageFailure) -> Int {
        let answer = try execute(sql, values)
        noteRun(sql)
        // Back to a savepoint: what failed since is undone, and counts no more.
        if answer.tag == "ROLLBACK" { forgetFailure() }
        return answer.changes
    }

    func rowsEach(_ sql: String, _ sets: [[Value]]) throws(StorageFailure) -> [[Row]] {
        var answers: [[Row]] = []
        for answer in try each(sql, sets) { answers.append(try answer.rows()) }
        return answers
    }

    func runEach(_ sql: String, _ sets: [[Value]]) throws(StorageFailure) -> [Int] {
        try each(sql, sets).map(\.changes)
    }

    private func each(
        _ sql: String, _ sets: [[Value]]
    ) throws(StorageFailure) -> [PostgresAnswer] {
        // One or none is not worth a change of mode.
        guard sets.count > 1 else {
            return try sets.first.map { (values) throws(StorageFailure) in
                [try execute(sql, values)]
            } ?? []
        }
        let name = try name(of: sql, for: sets[0])
        var answers: [PostgresAnswer] = []
        answers.reserveCapacity(sets.count)
        for start in stride(from: 0, to: sets.count, by: Self.pipelineRunsMax) {
            let end = min(start + Self.pipelineRunsMax, sets.count)
            answers += try pipeline(name, sets[start..<end])
        }
        return answers
    }

    private func execute(
        _ sql: String, _ values: [Value]
    ) throws(StorageFailure) -> PostgresAnswer {
        let name = try name(of: sql, for: values)
        let parameters = PostgresParameters(values)
        return try answer(
            parameters.withPointers { addresses, lengths, formats in
                waiting {
                    PQexecPrepared(
                        connection, name, parameters.count, addresses, lengths, formats, 1)
                }
            })
    }

    // MARK: - Pipelines

    /// Sends all, then reads all answers up to the mark that ends them, whether one failed or not:
    /// only then may the connection leave the mode.
    private func pipeline(
        _ name: String, _ sets: ArraySlice<[Value]>
    ) throws(StorageFailure) -> [PostgresAnswer] {
        guard PQenterPipelineMode(connection) == 1 else { throw noted(lost) }
        defer { PQexitPipelineMode(connection) }
        for values in sets {
            guard send(name, PostgresParameters(values)) else { throw noted(lost) }
        }
        guard waiting({ PQpipelineSync(connection) }) == 1 else { throw noted(lost) }
        var answers: [PostgresAnswer] = []
        var first: StorageFailure?
        for _ in sets {
            do throws(StorageFailure) {
                answers.append(try nextAnswer())
            } catch {
                first = first ?? error
                if isLost { break }
            }
        }
        PQclear(waiting { PQgetResult(connection) })
        if let first { throw first }
        return answers
    }

    private func send(_ name: String, _ parameters: PostgresParameters) -> Bool {
        parameters.withPointers { addresses, lengths, formats in
            waiting {
                PQsendQueryPrepared(
                    connection, name, parameters.count, addresses, lengths, formats, 1)
            }
        } == 1
    }

    /// The answer to one run, and the null pointer that follows it.
    private func nextAnswer() throws(StorageFailure) -> PostgresAnswer {
        let pointer = waiting { PQgetResult(connection) }
        defer { if pointer != nil { PQclear(waiting { PQgetResult(connection) }) } }
        return try answer(pointer)
    }

    private var lost: StorageFailure { PostgresFailure.lost(connection) }
}
