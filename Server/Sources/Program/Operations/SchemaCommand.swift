import ArgumentParser
import Storage

/// Prints the SQL of the tables.
struct SchemaCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "schema",
        abstract: "Print the SQL that creates the tables on PostgreSQL, or distributes them.",
        discussion: "Nothing is run, and no database is opened.")

    @Flag(help: "Print the SQL that distributes an existing database with Citus. Run it once.")
    var distributed = false

    func run() throws {
        for line in distributed ? Self.distribution : Self.tables { print(line) }
    }

    static var tables: [String] {
        Schema.text(.postgres).split(separator: "\n", omittingEmptySubsequences: false)
            .map(String.init)
    }

    static var distribution: [String] {
        [
            "-- Run once, with psql, on the coordinator, while no server runs: see docs/scale.md.",
            "-- For the schema version \(Schema.version). Citus 11.2 or newer.",
            "BEGIN;",
        ] + Schema.distribution.map { $0 + ";" } + ["COMMIT;"]
    }
}
