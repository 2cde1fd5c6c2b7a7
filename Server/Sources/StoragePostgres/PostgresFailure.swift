import CLibPQ
import Storage

/// Turns PostgreSQL's errors into storage failures. See the chapter "PostgreSQL Error Codes" of the
/// manual.
enum PostgresFailure {
    /// The explanation of two errors. Either there is a prepared statement that this connection did
    /// not prepare (duplicate_prepared_statement), or a statement that this connection did prepare
    /// does not exist (invalid_sql_statement_name).
    private static let pooler = """
        a connection pooler in transaction mode stands before PostgreSQL, and gives one session to \
        several connections
        """
    private static let causes = ["42P05": pooler, "26000": pooler]

    /// - Parameter isLost: whether the connection is lost.
    static func failure(of answer: OpaquePointer?, isLost: Bool) -> StorageFailure {
        let state = field("C", of: answer)
        // Uses only the primary message: the details contain values, which may be personal data.
        let said = field("M", of: answer) ?? message(of: answer)
        let constraint = field("n", of: answer).map { " (\($0))" } ?? ""
        let cause = state.flatMap { Self.causes[$0] }.map { ": \($0)" } ?? ""
        return StorageFailure(
            "PostgreSQL: \(said)\(constraint)" + (state.map { " [\($0)]" } ?? "") + cause,
            // An error without a code comes from libpq, and means that the connection failed.
            kind: isLost ? .unavailable : state.map { kind(of: $0) } ?? .unavailable,
            sqlState: state)
    }

    /// The failure of a connection itself: libpq's message on one line.
    static func lost(_ connection: OpaquePointer?) -> StorageFailure {
        let said = connection.flatMap { PQerrorMessage($0) }.map { String(cString: $0) }
        return StorageFailure("PostgreSQL: \(oneLine(said))", kind: .unavailable)
    }

    static func kind(of state: String) -> StorageFailure.Kind {
        if cannotWrite(state) { return .unavailable }
        switch state {
        // serialization_failure, deadlock_detected
        case "40001", "40P01": return .conflict
        // statement_completion_unknown; read_only_sql_transaction: the host was demoted;
        // invalid_sql_statement_name: a connection pooler dropped our prepared statement;
        // too_many_connections
        case "40003", "25006", "26000", "53300": return .unavailable
        // admin_shutdown, crash_shutdown, cannot_connect_now; idle_session_timeout,
        // idle_in_transaction_session_timeout: the server closed the connection
        case "57P01", "57P02", "57P03", "57P05", "25P03": return .unavailable
        // query_canceled: our own statement timeout; lock_not_available
        case "57014", "55P03": return .busy
        // duplicate_table, duplicate_object: another server created the same object at the same
        // moment; for a table, the conflict may first appear in its row type
        case "42P07", "42710": return .constraint
        default: break
        }
        switch state.prefix(2) {
        case "08": return .unavailable
        case "23": return .constraint
        case "53": return .busy
        default: return .other
        }
    }

    /// Whether the server is reachable but cannot work, for example because its disk is full. In
    /// such a state, an immediate retry would only make all callers wait.
    static func isLasting(_ failure: StorageFailure) -> Bool {
        failure.sqlState.map { cannotWrite($0) } ?? false
    }

    /// Whether an SQLSTATE is disk_full, out_of_memory, or a system error (class 58).
    private static func cannotWrite(_ state: String) -> Bool {
        ["53100", "53200"].contains(state) || state.hasPrefix("58")
    }

    private static func field(_ letter: Character, of answer: OpaquePointer?) -> String? {
        guard let answer, let code = letter.asciiValue,
            let text = PQresultErrorField(answer, Int32(code))
        else { return nil }
        return String(cString: text)
    }

    private static func message(of answer: OpaquePointer?) -> String {
        oneLine(answer.flatMap { PQresultErrorMessage($0) }.map { String(cString: $0) })
    }

    private static func oneLine(_ said: String?) -> String {
        // Skips lines that begin with a tab. These lines are hints, such as the question whether
        // the server is running.
        let lines = (said ?? "").split(whereSeparator: \.isNewline)
            .filter { !$0.hasPrefix("\t") }
        return lines.isEmpty ? "no answer" : lines.joined(separator: "; ")
    }
}
