import CLibPQ
import Storage

/// A standby: a server that copies another server. A standby can be read, and accepts writes after
/// it is promoted.
enum Standby {
    /// The SQLSTATE of a write on a standby: read_only_sql_transaction.
    static let sqlState = "25006"

    static let failure = StorageFailure(
        "PostgreSQL: the server is a standby, which can only be read", kind: .unavailable,
        sqlState: sqlState)

    /// A connection to a standby at an address. Returns nil if there is no standby, or if the
    /// address itself says which servers to use. The caller must close the connection with
    /// `PQfinish`.
    ///
    /// - Parameter refused: the connection that failed. The function makes another attempt only if
    ///   the reason was that a server accepts no writes.
    static func connection(
        _ address: PostgresAddress, insteadOf refused: OpaquePointer
    ) -> OpaquePointer? {
        let said = PQerrorMessage(refused).map { String(cString: $0) } ?? ""
        guard said.contains("read-only"), let connection = address.connectForReading() else {
            return nil
        }
        guard PQstatus(connection) == CONNECTION_OK, isInRecovery(connection) else {
            PQfinish(connection)
            return nil
        }
        return connection
    }

    /// Whether the server is a standby. False if the server refuses writes only because
    /// `default_transaction_read_only` is set.
    private static func isInRecovery(_ connection: OpaquePointer) -> Bool {
        let answer = PQexec(connection, "SELECT pg_is_in_recovery()")
        defer { PQclear(answer) }
        guard PQresultStatus(answer) == PGRES_TUPLES_OK, let value = PQgetvalue(answer, 0, 0) else {
            return false
        }
        return String(cString: value) == "t"
    }
}
