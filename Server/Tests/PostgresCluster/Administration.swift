import CLibPQ

/// Statements that may not run in a transaction, such as the creation of a database.
package enum Administration {
    /// Whether a server accepts connections.
    static func isReady(_ url: String) throws -> Bool {
        PQping(url) == PQPING_OK
    }

    /// Runs a statement, and returns the first column of the first row, if there is one.
    @discardableResult
    package static func run(_ sql: String, at url: String) throws -> String? {
        let connection = PQconnectdb(url)
        defer { PQfinish(connection) }
        let answer = PQexec(connection, sql)
        defer { PQclear(answer) }
        switch PQresultStatus(answer) {
        case PGRES_COMMAND_OK: return nil
        case PGRES_TUPLES_OK:
            return PQntuples(answer) > 0 ? String(cString: PQgetvalue(answer, 0, 0)) : nil
        default:
            let said = PQerrorMessage(connection).map { String(cString: $0) } ?? "no answer"
            throw PostgresServer.Failure(description: "\(sql): \(said)")
        }
    }
}
