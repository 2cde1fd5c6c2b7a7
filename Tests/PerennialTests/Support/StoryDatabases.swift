import Foundation
import Glibc

/// A PostgreSQL of this process with a database for each story, if `PERENNIAL_STORIES_DATABASE` is
/// `postgres`. Otherwise worlds have a file of SQLite.
///
/// A shell starts PostgreSQL, creates and drops databases as its input lines say, and ends
/// PostgreSQL together with this process. PostgreSQL refuses to run as root, so then it runs as
/// `nobody`.
actor StoryDatabases {
    static let shared = StoryDatabases()

    static let isPostgres =
        ProcessInfo.processInfo.environment["PERENNIAL_STORIES_DATABASE"] == "postgres"

    struct Failure: Error, CustomStringConvertible {
        var description: String
    }

    /// The script that runs PostgreSQL. The data need not survive a loss of power.
    private static let script = """
        PATH="$PATH:$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | tail -n 1)"
        folder=$(mktemp -d -t stories-pg-XXXXXX); exec 2>"$folder/errors"
        initdb -D "$folder/data" -U perennial -A trust -E UTF8 --no-locale --no-sync >&2 &&
            pg_ctl -D "$folder/data" -w -l "$folder/log" start >&2 -o \\
                "-k $folder -c listen_addresses= -c fsync=off -c log_min_messages=fatal" &&
            echo "$folder"
        while read -r verb name; do
            case "$verb" in
            make) createdb -h "$folder" -U perennial "$name" && echo made || echo failed ;;
            drop) dropdb -f -h "$folder" -U perennial "$name" && echo dropped || echo failed ;;
            esac
        done
        pg_ctl -D "$folder/data" -m immediate stop >&2
        rm -rf "$folder"
        """

    private var shell: (folder: String, input: FileHandle, output: FileHandle)?
    private var made = 0

    /// The address of a new database. Nil for a file of SQLite.
    func make() throws -> String? {
        guard Self.isPostgres else { return nil }
        made += 1
        let shell = try started()
        try run("make story_\(made)", answer: "made")
        return "postgresql:///story_\(made)?host=\(shell.folder)&user=perennial"
    }

    /// Drops a database, even if it is in use.
    func drop(_ address: String?) throws {
        guard let name = address?.split(separator: "?").first?.split(separator: "/").last else {
            return
        }
        try run("drop \(name)", answer: "dropped")
    }

    private func run(_ line: String, answer: String) throws {
        let shell = try started()
        try shell.input.write(contentsOf: Data("\(line)\n".utf8))
        let said = Self.line(of: shell.output)
        guard said == answer else {
            let log = try? String(contentsOfFile: "\(shell.folder)/errors", encoding: .utf8)
            throw Failure(description: "\(line): \(said) \(log ?? "")")
        }
    }

    private func started() throws -> (folder: String, input: FileHandle, output: FileHandle) {
        if let shell { return shell }
        let process = Process()
        let isRoot = geteuid() == 0
        process.executableURL = URL(fileURLWithPath: isRoot ? "/usr/bin/setpriv" : "/bin/sh")
        let other = ["--reuid=nobody", "--regid=nogroup", "--clear-groups", "--", "/bin/sh"]
        process.arguments = (isRoot ? other : []) + ["-c", Self.script]
        process.currentDirectoryURL = URL(fileURLWithPath: "/tmp")
        let (input, output) = (Pipe(), Pipe())
        process.standardInput = input
        process.standardOutput = output
        try process.run()
        let folder = Self.line(of: output.fileHandleForReading)
        guard !folder.isEmpty else { throw Failure(description: "PostgreSQL did not start.") }
        let made = (folder, input.fileHandleForWriting, output.fileHandleForReading)
        shell = made
        return made
    }

    /// The next line of the output. Empty at the end of the output.
    private static func line(of output: FileHandle) -> String {
        var text = ""
        while !text.hasSuffix("\n") {
            let data = output.availableData
            if data.isEmpty { break }
            text += String(decoding: data, as: UTF8.self)
        }
        return text.trimmingCharacters(in: .newlines)
    }
}
