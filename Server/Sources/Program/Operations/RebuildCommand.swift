import ArgumentParser
import Engine
import Storage

/// Rebuilds all derived rows from the documents, or compares them.
struct RebuildCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rebuild", abstract: "Rebuild all derived rows from the documents.")

    @Flag(help: "Only compare and report differences.") var verify = false
    @Flag(help: "Remove what came from documents that can no longer be verified.")
    var withoutUnusable = false
    @OptionGroup var options: DatabaseOptions

    func run() async throws {
        try await Outcome.reportingFailures {
            let assembly = try await options.assembly(for: verify ? .inspecting : .modifying)
            defer { assembly.database.close() }
            if !verify { try await Self.requireOwnSchema(of: assembly.database) }
            let report = try await Self.report(
                of: assembly.engine, verify: verify, withoutUnusable: withoutUnusable
            ) { done, total in
                Outcome.printError("\(done) of \(total.counted("document"))")
            }
            for line in Self.lines(of: report, verify: verify) { print(line) }
            if !report.isClean { throw ExitCode(1) }
        }
    }

    /// Throws if a newer program has migrated the database: its servers may derive rows by newer
    /// rules.
    private static func requireOwnSchema(of database: any DatabaseDriver) async throws {
        let version = try await Database(database).schemaVersion()
        guard version <= Schema.version else {
            throw StartFailure(
                "Nothing was rebuilt: the tables of the database have version \(version), and this "
                    + "program has version \(Schema.version).",
                remedy: "Run this with the newest program that serves the database.")
        }
    }

    /// Rebuilds the rows of an engine's database, or only compares them.
    ///
    /// - Throws: ``StartFailure``, and then nothing is changed.
    static func report(
        of engine: Engine, verify: Bool, withoutUnusable: Bool = false,
        progress: @escaping @Sendable (Int, Int) -> Void
    ) async throws(StartFailure) -> RebuildReport {
        do throws(EngineFailure) {
            return try await engine.maintenance.rebuild(
                verifyOnly: verify, withoutUnusable: withoutUnusable, progress: progress)
        } catch {
            guard error != .busy else {
                throw StartFailure(
                    "Nothing was rebuilt: another program holds a lock on the tables.",
                    remedy: "Wait until it has ended, then run this again. It may be a VACUUM, a "
                        + "change of tables (see pg_stat_activity), or another writer of the file.")
            }
            throw StartFailure(
                "Nothing was rebuilt: \(error).",
                remedy: "Check that the configuration is the one that recorded the documents; "
                    + "--verify lists unusable documents, and --without-unusable removes them. "
                    + "Only one rebuild can run at a time.")
        }
    }

    static func lines(of report: RebuildReport, verify: Bool) -> [String] {
        let verb = verify ? "compared" : "rebuilt"
        let (documents, differences) = (
            report.documents.counted("document"), report.differences.counted("difference")
        )
        return ["\(verb) from \(documents), \(differences)"]
            + report.firstDifferences.map { "  \($0)" }
            + report.unusable.map { "  unusable: \($0)" }
    }
}
