import Engine
import Logging
import Storage

/// The copy of the database from which reports are read: a standby of the PostgreSQL server.
enum ReportDatabase {
    /// The maximum number of times that a starting server checks whether a new database has reached
    /// the copy.
    private static let checksMax = 10
    private static let pause = Duration.seconds(1)

    /// Opens the copy. Connects when the first report is read. Returns nil if no copy is set.
    ///
    /// - Throws: ``StartFailure`` if the address cannot be used, or if one of the databases is a
    ///   file.
    static func open(_ settings: ProcessSettings) throws(StartFailure) -> (any DatabaseDriver)? {
        guard let address = settings.reportDatabase else { return nil }
        for one in [address, settings.database] where !DatabaseAddress.isServer(one) {
            throw StartFailure(
                "report_database needs PostgreSQL, and \(DatabaseAddress.withoutPassword(one)) is "
                    + "a file.",
                remedy: "Leave out report_database: reports on a SQLite file keep nobody waiting.")
        }
        return try DatabaseAddress.open(address, mayCreate: false, onlyReads: true)
    }

    /// Checks that the copy is a copy of the server's database. A copy that cannot be read is only
    /// reported in the log: the server starts, and its reports fail until the copy can be read.
    ///
    /// - Throws: ``StartFailure`` if the copy contains another database.
    static func check(
        _ copy: (any DatabaseDriver)?, _ address: String?, of assembly: Assembly, _ logger: Logger
    ) async throws {
        guard copy != nil, let address else { return }
        let shown = DatabaseAddress.withoutPassword(address)
        for _ in 1...checksMax {
            do {
                switch try await assembly.engine.measurements.copyIsOfThisDatabase() {
                case true: return
                case false:
                    throw StartFailure(
                        "report_database is not a copy of the server's database: \(shown) has "
                            + "another key, or events that the database does not have.",
                        remedy: "Name a standby of the server that --database names.")
                case nil: try await Task.sleep(for: pause)
                }
            } catch let failure as StartFailure { throw failure } catch {
                return logger.warning(
                    "the database for reports cannot be read",
                    metadata: ["report_database": "\(shown)", "error": "\(error)"])
            }
        }
        logger.warning(
            "the database for reports is behind: reports lack the newest changes",
            metadata: ["report_database": "\(shown)"])
    }
}
