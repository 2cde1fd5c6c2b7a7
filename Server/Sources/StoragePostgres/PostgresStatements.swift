import CLibPQ
import Storage

extension PostgresSession: Connection {
    /// Runs of a statement that travel together. So many small answers fit into the buffers of any
    /// socket: neither side waits for the other to read.
    static let pipelineRunsMax = 128

    func rows(_ sql: String, _ values: [Value]) throws(StorageFailure) -> [Row] {
        try execute(sql, values).rows()
    }

    func run(_ sql: String, _ values: [Value]) throws(StorageFailure) -> Int {
        try execute(sql, values).changes
    }

    func runEach(_ sql: String, _ sets: [[Value]]) throws(StorageFailure) -> [Int] {
        // One or none is not worth a change of mode.
        guard sets.count > 1 else {
            return try sets.first.map { (values) throws(StorageFailure) in
                [try run(sql, values)]
            } ?? []
        }
        let name = try name(of: sql, for: sets[0])
        var counts: [Int] = []
        for start in stride(from: 0, to: sets.count, by: Self.pipelineRunsMax) {
            let end = min(start + Self.pipelineRunsMax, sets.count)
            counts += try pipeline(name, sets[start..<end])
        }
        return counts
    }

    private func execute(
        _ sql: String, _ values: [Value]
    ) throws(StorageFailure) -> PostgresAnswer {
        let name = try name(of: sql, for: values)
        let parameters = PostgresParameters(values)
        return try answer(
            parameters.withPointers { addresses, lengths, formats in
                PQexecPrepared(
                    connection, name, parameters.count, addresses, lengths, formats, 1)
            })
    }

    // MARK: - Pipelines

    /// Sends all, then reads all answers up to the mark that ends them, whether one failed or not:
    /// only then may the connection leave the mode.
    private func pipeline(
        _ name: String, _ sets: ArraySlice<[Value]>
    ) throws(StorageFailure) -> [Int] {
        guard PQenterPipelineMode(connection) == 1 else { throw noted(lost) }
        defer { PQexitPipelineMode(connection) }
        for values in sets {
            guard send(name, PostgresParameters(values)) else { throw noted(lost) }
        }
        guard PQpipelineSync(connection) == 1 else { throw noted(lost) }
        var counts: [Int] = []
        var first: StorageFailure?
        for _ in sets {
            do throws(StorageFailure) {
                counts.append(try nextAnswer().changes)
            } catch {
                first = first ?? error
                if isLost { break }
            }
        }
        PQclear(PQgetResult(connection))
        if let first { throw first }
        return counts
    }

    private func send(_ name: String, _ parameters: PostgresParameters) -> Bool {
        parameters.withPointers { addresses, lengths, formats in
            PQsendQueryPrepared(
                connection, name, parameters.count, addresses, lengths, formats, 1)
        } == 1
    }

    /// The answer to one run, and the null pointer that follows it.
    private func nextAnswer() throws(StorageFailure) -> PostgresAnswer {
        let pointer = PQgetResult(connection)
        defer { if pointer != nil { PQclear(PQgetResult(connection)) } }
        return try answer(pointer)
    }

    private var lost: StorageFailure { PostgresFailure.lost(connection) }
}
