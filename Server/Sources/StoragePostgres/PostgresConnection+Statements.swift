import CLibPQ
import Storage

extension PostgresConnection: Connection {
    /// The maximum number of runs of a statement that are sent together. While libpq waits to send,
    /// it reads incoming data, so the two sides never block each other.
    static let pipelineRunsMax = 128

    var dialect: Dialect { .postgres }

    func rows(_ sql: String, _ values: [Value]) throws(StorageFailure) -> [Row] {
        try execute(sql, values).rows()
    }

    func run(_ sql: String, _ values: [Value]) throws(StorageFailure) -> Int {
        let answer = try execute(sql, values)
        trackStatement(sql)
        // A rollback to a savepoint undoes the failure, which therefore no longer counts.
        if answer.tag == "ROLLBACK" { clearFailure() }
        return answer.changes
    }

    func rowsEach(_ sql: String, _ sets: [[Value]]) throws(StorageFailure) -> [[Row]] {
        var answers: [[Row]] = []
        for answer in try runSets(sql, sets) { answers.append(try answer.rows()) }
        return answers
    }

    func runEach(_ sql: String, _ sets: [[Value]]) throws(StorageFailure) -> [Int] {
        try runSets(sql, sets).map(\.changes)
    }

    private func runSets(
        _ sql: String, _ sets: [[Value]]
    ) throws(StorageFailure) -> [PostgresResult] {
        // A single run, or none, does not justify switching to pipeline mode.
        guard sets.count > 1 else {
            return try sets.first.map { (values) throws(StorageFailure) in
                [try execute(sql, values)]
            } ?? []
        }
        let name = try name(of: sql, for: sets[0])
        var answers: [PostgresResult] = []
        answers.reserveCapacity(sets.count)
        for start in stride(from: 0, to: sets.count, by: Self.pipelineRunsMax) {
            let end = min(start + Self.pipelineRunsMax, sets.count)
            answers += try pipeline(name, sets[start..<end])
        }
        return answers
    }

    private func execute(
        _ sql: String, _ values: [Value]
    ) throws(StorageFailure) -> PostgresResult {
        let name = try name(of: sql, for: values)
        let parameters = PostgresParameters(values)
        return try checkedResult(
            parameters.withPointers { addresses, lengths, formats in
                waitForServer {
                    PQexecPrepared(
                        connection, name, parameters.count, addresses, lengths, formats, 1)
                }
            })
    }

    // MARK: - Pipelines

    /// Sends all runs, and then reads all results up to the synchronization point, even if a run
    /// failed. Only after that may the connection leave pipeline mode.
    private func pipeline(
        _ name: String, _ sets: ArraySlice<[Value]>
    ) throws(StorageFailure) -> [PostgresResult] {
        guard PQenterPipelineMode(connection) == 1 else { throw recordFailure(lost) }
        defer { PQexitPipelineMode(connection) }
        for values in sets {
            guard send(name, PostgresParameters(values)) else { throw recordFailure(lost) }
        }
        guard waitForServer({ PQpipelineSync(connection) }) == 1 else { throw recordFailure(lost) }
        var answers: [PostgresResult] = []
        var first: StorageFailure?
        for _ in sets {
            do throws(StorageFailure) {
                answers.append(try nextResult())
            } catch {
                first = first ?? error
                if isLost { break }
            }
        }
        PQclear(waitForServer { PQgetResult(connection) })
        if let first { throw first }
        return answers
    }

    private func send(_ name: String, _ parameters: PostgresParameters) -> Bool {
        parameters.withPointers { addresses, lengths, formats in
            waitForServer {
                PQsendQueryPrepared(
                    connection, name, parameters.count, addresses, lengths, formats, 1)
            }
        } == 1
    }

    /// Reads the result of one run, and the null pointer that follows it.
    private func nextResult() throws(StorageFailure) -> PostgresResult {
        let pointer = waitForServer { PQgetResult(connection) }
        defer { if pointer != nil { PQclear(waitForServer { PQgetResult(connection) }) } }
        return try checkedResult(pointer)
    }

    private var lost: StorageFailure { PostgresFailure.lost(connection) }
}
