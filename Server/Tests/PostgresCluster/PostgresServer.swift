import Eventually
import Foundation

/// A throw-away PostgreSQL server in a temporary folder, reached by a socket in that folder.
///
/// The server ends and its folder is removed when this process ends, even if the process crashes.
package actor PostgresServer {
    /// How long the server may take to start or to end.
    private static let seconds = 300.0
    /// The superuser of the cluster, which is its only user.
    static let user = "perennial"

    /// Settings that keep the server small.
    private static let settings = [
        "listen_addresses": "", "shared_buffers": "32MB", "max_connections": "800",
        "max_wal_size": "256MB", "autovacuum_naptime": "1h", "jit": "off",
        "log_min_messages": "fatal", "deadlock_timeout": "100ms",
    ]

    /// The ways to end a running server.
    package enum End: String, Sendable {
        /// Disconnects the sessions and shuts down cleanly.
        case fast
        /// Stops like a power failure: the next start recovers.
        case immediate
    }

    package struct Failure: Error, CustomStringConvertible {
        package var description: String
    }

    nonisolated let folder: URL
    private let settings: [String: String]
    private let programs: URL
    private let account: Account?
    /// The process that watches the server, and the end of the pipe that keeps the server running.
    private var watch: (process: Process, pipe: Pipe)?

    /// The newest PostgreSQL of this machine; nil if none is installed.
    private static var programs: URL? {
        let debian = "/usr/lib/postgresql"
        let versions = (try? FileManager.default.contentsOfDirectory(atPath: debian)) ?? []
        let sorted = versions.compactMap { Int($0) }.sorted(by: >)
        let folders =
            sorted.map { "\(debian)/\($0)/bin" }
            + (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":")
            .map(String.init)
        return folders.first {
            FileManager.default.isExecutableFile(atPath: "\($0)/initdb")
                && FileManager.default.isExecutableFile(atPath: "\($0)/postgres")
        }.map { URL(filePath: $0) }
    }

    package static var isInstalled: Bool { programs != nil }

    /// Makes a cluster. ``start()`` starts it.
    ///
    /// - Parameter surviving: the failures that acknowledged rows survive. Tests do not cut the
    ///   power, so the default is the end of all programs. This default saves most of the time on a
    ///   busy disk, where the removal of each database would wait until other programs have written
    ///   their data.
    package init(surviving losses: Losses = .programs) async throws {
        try await self.init(
            losses,
            filling:
                "exec \"$0/initdb\" -D \"$1/data\" -U \(Self.user) -A trust -E UTF8 --no-locale "
                + "--no-sync")
    }

    package enum Losses: Sendable {
        /// Rows survive the end of all programs, by a shutdown or a crash.
        case programs
        /// Rows also survive the loss of the machine's power. A benchmark uses this setting
        /// because production does.
        case power
    }

    /// Makes a copy of a running server. The copy follows the server. Once the copy has started,
    /// each commit on the primary waits until the copy has also written it to disk.
    package init(following primary: PostgresServer) async throws {
        try await self.init(
            .programs,
            filling: "exec \"$0/pg_basebackup\" -D \"$1/data\" -R --checkpoint=fast --no-sync "
                + "-d '\(primary.url(of: "postgres"))'")
        try Administration.run(
            "ALTER SYSTEM SET synchronous_standby_names = '*'", at: primary.url(of: "postgres"))
        try Administration.run(
            "SELECT pg_reload_conf()", at: primary.url(of: "postgres"))
    }

    private init(_ losses: Losses, filling command: String) async throws {
        guard let programs = Self.programs else {
            throw Failure(description: "PostgreSQL is not installed: bin/test installs it")
        }
        self.programs = programs
        settings = Self.settings.merging(["fsync": losses == .power ? "on" : "off"]) { $1 }
        account = Account.forServer
        // The path is short, because the address of a socket is limited to about a hundred bytes.
        folder = FileManager.default.temporaryDirectory.appending(
            path: "perennial-pg-\(UUID().uuidString.prefix(8))")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
        try account?.own(folder)
        let filling = process("\(command) >\"$1/filling.log\" 2>&1")
        try filling.run()
        guard try await filling.waitForEnd() == 0 else {
            throw Failure(description: "no cluster: \(Self.text(folder, "filling.log"))")
        }
    }

    /// Makes this follower the primary, which accepts writes.
    package func promote() throws {
        try Administration.run(
            "ALTER SYSTEM RESET synchronous_standby_names", at: url(of: "postgres"))
        try Administration.run("SELECT pg_promote()", at: url(of: "postgres"))
        try Administration.run("SELECT pg_reload_conf()", at: url(of: "postgres"))
    }

    /// The address at which libpq connects to the server that accepts writes.
    package static nonisolated func url(ofAnyOf servers: [PostgresServer]) -> String {
        let hosts = servers.map(\.folder.path).joined(separator: ",")
        return "postgresql:///postgres?host=\(hosts)&user=\(user)"
    }

    /// The address of a database of this server, for libpq.
    package nonisolated func url(of database: String) -> String {
        "postgresql:///\(database)?host=\(folder.path)&user=\(Self.user)"
    }

    /// Starts the server, and returns when it accepts connections.
    package func start() async throws {
        precondition(watch == nil, "The server runs already.")
        let process = process(watching)
        let pipe = Pipe()
        process.standardInput = pipe
        try process.run()
        watch = (process, pipe)
        try await wait("start") { try Administration.isReady(url(of: "postgres")) }
    }

    /// A script that waits for a word on the pipe, then ends the server and keeps the folder. If
    /// the pipe ends, this process has ended, and the script removes the folder.
    private var watching: String {
        let settings = settings.sorted { $0.key < $1.key }
            .map { "-c \($0.key)='\($0.value)'" }.joined(separator: " ")
        return """
            exec >>"$1/log" 2>&1
            "$0/postgres" -D "$1/data" -k "$1" \(settings) &
            server=$!
            if read -r word; then
                case "$word" in fast) kill -INT $server ;; *) kill -QUIT $server ;; esac
                wait $server
            else
                kill -QUIT $server
                wait $server
                rm -rf "$1"
            fi
            """
    }

    /// Ends the server and returns when it has ended. ``start()`` starts it again.
    package func stop(_ end: End) async throws {
        guard let watch else { return }
        self.watch = nil
        try watch.pipe.fileHandleForWriting.write(contentsOf: Data("\(end.rawValue)\n".utf8))
        try await watch.process.waitForEnd()
        try watch.pipe.fileHandleForWriting.close()
    }

    /// Ends the server and removes its folder.
    package func remove() async throws {
        if let watch {
            self.watch = nil
            try watch.pipe.fileHandleForWriting.close()
            try await watch.process.waitForEnd()
        }
        if FileManager.default.fileExists(atPath: folder.path) {
            try FileManager.default.removeItem(at: folder)
        }
    }

    /// A shell that runs as the account of the server, with the programs' folder and ours as its
    /// arguments.
    ///
    /// The shell must be Bash, which handles the mask of blocked signals that it inherits from the
    /// thread that starts it. A simpler shell with that mask never learns that the server has
    /// ended.
    nonisolated func process(_ script: String) -> Process {
        let process = Process()
        let command = (account?.prefix ?? []) + ["/bin/bash", "-c", script]
        process.executableURL = URL(filePath: command[0])
        process.arguments = Array(command.dropFirst()) + [programs.path, folder.path]
        process.currentDirectoryURL = folder
        process.standardInput = FileHandle.nullDevice
        return process
    }

    private func wait(_ what: String, _ isDone: () throws -> Bool) async throws {
        do { try await eventually(what, within: Self.seconds, isDone) } catch is NeverCame {
            throw Failure(description: "no \(what): \(Self.text(folder, "log"))")
        }
    }

    private static func text(_ folder: URL, _ name: String) -> String {
        (try? String(contentsOf: folder.appending(path: name), encoding: .utf8)) ?? "no \(name)"
    }
}

/// The account for PostgreSQL if we are root: PostgreSQL refuses to run as root.
private struct Account: Sendable {
    var user: uid_t
    var group: gid_t

    static var forServer: Account? {
        guard geteuid() == 0, let nobody = getpwnam("nobody") else { return nil }
        return Account(user: nobody.pointee.pw_uid, group: nobody.pointee.pw_gid)
    }

    var prefix: [String] {
        ["/usr/bin/setpriv", "--reuid=\(user)", "--regid=\(group)", "--clear-groups", "--"]
    }

    func own(_ folder: URL) throws {
        guard chown(folder.path, user, group) == 0 else {
            throw PostgresServer.Failure(description: "chown \(folder.path): errno \(errno)")
        }
    }
}
