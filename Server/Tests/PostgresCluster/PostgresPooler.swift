import Eventually
import Foundation

/// A PgBouncer in front of a server, reached by a socket in the server's folder. The pooler ends
/// when this process ends, even if the process crashes.
package actor PostgresPooler {
    /// How long a client keeps a session of the server before another client may use it.
    package enum Mode: String, Sendable {
        case session
        case transaction
    }

    private static let program = "/usr/sbin/pgbouncer"
    private static let port = 6432
    private static let seconds = 60.0

    package static var isInstalled: Bool {
        FileManager.default.isExecutableFile(atPath: program)
    }

    private let server: PostgresServer
    private var watch: (process: Process, pipe: Pipe)?

    package init(before server: PostgresServer, mode: Mode) async throws {
        self.server = server
        let process = server.process(Self.script(mode))
        let pipe = Pipe()
        process.standardInput = pipe
        try process.run()
        watch = (process, pipe)
        try await eventually("PgBouncer is ready", within: Self.seconds) {
            try Administration.isReady(url(of: "postgres"))
        }
    }

    /// The address of a database of the server, through this pooler.
    package nonisolated func url(of database: String) -> String {
        server.url(of: database) + "&port=\(Self.port)"
    }

    package func stop() async throws {
        guard let watch else { return }
        self.watch = nil
        try watch.pipe.fileHandleForWriting.close()
        try await watch.process.waitForEnd()
    }

    /// The script starts the pooler and waits for the end of the pipe. The socket's name contains
    /// the port, so it differs from the name of the server's socket.
    private static func script(_ mode: Mode) -> String {
        """
        cat >"$1/pgbouncer.ini" <<END
        [databases]
        * = host=$1 user=\(PostgresServer.user)
        [pgbouncer]
        listen_port = \(port)
        unix_socket_dir = $1
        auth_type = any
        pool_mode = \(mode.rawValue)
        END
        \(program) "$1/pgbouncer.ini" >>"$1/pgbouncer.log" 2>&1 &
        pooler=$!
        read -r _
        kill -KILL $pooler
        wait $pooler
        """
    }
}
