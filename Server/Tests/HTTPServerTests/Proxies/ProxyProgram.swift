import Eventually
import Foundation
import Testing

@testable import HTTPServer

/// A proxy as Debian packages it, in front of a test's server.
enum ProxyProgram: String, Sendable {
    case nginx, haproxy, caddy

    /// The path of the program. Nil if it is not installed.
    var path: String? {
        let folders =
            (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":")
            .map(String.init) + ["/usr/sbin", "/usr/local/sbin"]
        return folders.map { "\($0)/\(rawValue)" }
            .first { FileManager.default.isExecutableFile(atPath: $0) }
    }

    /// Why a test is skipped.
    static let absence: Comment = "the proxy is not installed"

    // MARK: - Configurations

    /// The configuration in docs/operations.md, with the ports of a test.
    func documented(_ port: Int, to backend: Int) throws -> String {
        let page = URL(fileURLWithPath: #filePath)
            .appendingPathComponent("../../../../../docs/operations.md").standardized
        let text = try String(contentsOf: page, encoding: .utf8)
        let start = try #require(text.range(of: "```\(rawValue)\n"), "\(rawValue) is shown")
        let rest = text[start.upperBound...]
        let end = try #require(rest.range(of: "```"))
        let shown = rest[..<end.lowerBound].replacing(
            "127.0.0.1:8080", with: "127.0.0.1:\(backend)")
        return whole(String(shown), port)
    }

    /// Completes the part that the page shows to a whole file.
    private func whole(_ shown: String, _ port: Int) -> String {
        switch self {
        case .nginx: Self.nginx(shown, port)
        case .haproxy:
            shown + """

                frontend test
                    bind 127.0.0.1:\(port)
                    default_backend perennial

                """
        case .caddy:
            "{\n    admin off\n    auto_https off\n}\n"
                + shown.replacing("store.example.com", with: "http://localhost:\(port)")
        }
    }

    /// - Parameter shown: the content of `server`.
    static func nginx(_ shown: String, _ port: Int) -> String {
        """
        error_log stderr;
        pid nginx.pid;
        daemon off;
        master_process off;
        events {}
        http {
            access_log off;
            client_body_temp_path body;
            proxy_temp_path proxy;
            fastcgi_temp_path fastcgi;
            uwsgi_temp_path uwsgi;
            scgi_temp_path scgi;
            server {
                listen 127.0.0.1:\(port);
                \(shown)
            }
        }
        """
    }

    // MARK: - Run

    /// Runs the proxy in front of a server while `body` runs.
    ///
    /// - Parameter configuration: returns the file, given the port of the proxy and that of the
    ///   server. Nil for the documented configuration.
    func run(
        before server: ListeningServer, _ configuration: (@Sendable (Int, Int) -> String)? = nil,
        _ body: (_ port: Int) async throws -> Void
    ) async throws {
        let folder = FileManager.default.temporaryDirectory
            .appendingPathComponent("perennial-proxy-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let port = try Self.freePort()
        let text =
            try configuration?(port, server.port) ?? documented(port, to: server.port)
        let file = folder.appendingPathComponent("configuration")
        try Data(text.utf8).write(to: file)
        let process = Process()
        process.executableURL = URL(fileURLWithPath: try #require(path))
        process.arguments = arguments(folder.path, file.path)
        process.environment = ["HOME": folder.path, "PATH": "/usr/bin:/bin"]
        process.currentDirectoryURL = folder
        process.standardError = FileHandle.nullDevice
        process.standardOutput = FileHandle.nullDevice
        try process.run()
        do {
            try await eventually("\(rawValue) answers", within: 60) {
                guard process.isRunning, let connection = try? Connection(to: port) else {
                    return false
                }
                let asked = RequestText.get("/health", "").replacing("birds", with: "localhost")
                let answers = try? await connection.answers(to: asked, count: 1)
                return answers?.first?.status == 200
            }
            try await body(port)
        } catch {
            try await Self.end(process)
            throw error
        }
        try await Self.end(process)
    }

    private static func end(_ process: Process) async throws {
        kill(process.processIdentifier, SIGTERM)
        let number = process.processIdentifier
        let guardian = DispatchWorkItem { kill(number, SIGKILL) }
        DispatchQueue.global().asyncAfter(deadline: .now() + 20, execute: guardian)
        try await process.waitForEnd()
        guardian.cancel()
    }

    private func arguments(_ folder: String, _ file: String) -> [String] {
        switch self {
        case .nginx: ["-p", folder, "-c", file]
        case .haproxy: ["-db", "-f", file]
        case .caddy: ["run", "--config", file, "--adapter", "caddyfile"]
        }
    }

    /// A port on which nothing listened a moment ago.
    private static func freePort() throws -> Int {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(descriptor) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let code = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, size) == 0 ? getsockname(descriptor, $0, &size) : -1
            }
        }
        guard code == 0 else { throw Connection.Failure(call: "bind") }
        return Int(in_port_t(bigEndian: address.sin_port))
    }
}
