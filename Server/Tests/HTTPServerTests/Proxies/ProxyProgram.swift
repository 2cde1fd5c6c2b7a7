import Eventually
import Foundation
import Testing

@testable import HTTPServer

/// A proxy as Debian packages it, in front of a test's server.
enum ProxyProgram: String, Sendable, CaseIterable {
    case nginx, haproxy, caddy, apache2, varnishd

    /// The path of the program; nil if the program is not installed.
    var path: String? {
        let folders =
            (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":")
            .map(String.init) + ["/usr/sbin", "/usr/local/sbin"]
        return folders.map { "\($0)/\(rawValue)" }
            .first { FileManager.default.isExecutableFile(atPath: $0) }
    }

    /// The reason that a skipped test prints.
    static let absence: Comment = "the proxy is not installed"

    // MARK: - Configurations

    /// The name of the configuration in deploy/proxies.
    private var fileName: String {
        switch self {
        case .nginx: "nginx.conf"
        case .haproxy: "haproxy.cfg"
        case .caddy: "Caddyfile"
        case .apache2: "apache.conf"
        case .varnishd: "varnish.vcl"
        }
    }

    /// What the test changes in the configuration: the address of the proxy, which uses no TLS
    /// here, and the address of the server.
    private func changes(_ port: Int, _ backend: Int) -> [(String, String)] {
        switch self {
        case .nginx:
            [
                ("listen 443 ssl http2;", "listen 127.0.0.1:\(port);"),
                ("    ssl_certificate /etc/ssl/store.example.com/fullchain.pem;\n", ""),
                ("    ssl_certificate_key /etc/ssl/store.example.com/privkey.pem;\n", ""),
                ("127.0.0.1:8080", "127.0.0.1:\(backend)"),
            ]
        case .haproxy:
            [
                (
                    "bind :443 ssl crt /etc/ssl/store.example.com/all.pem alpn h2,http/1.1",
                    "bind 127.0.0.1:\(port)"
                ), ("127.0.0.1:8080", "127.0.0.1:\(backend)"),
            ]
        case .caddy:
            [
                ("store.example.com {", "http://localhost:\(port) {"),
                ("127.0.0.1:8080", "127.0.0.1:\(backend)"),
            ]
        case .apache2:
            [
                ("*:443", "127.0.0.1:\(port)"), ("    SSLEngine on\n", ""),
                ("    SSLCertificateFile /etc/ssl/store.example.com/fullchain.pem\n", ""),
                ("    SSLCertificateKeyFile /etc/ssl/store.example.com/privkey.pem\n", ""),
                ("127.0.0.1:8080", "127.0.0.1:\(backend)"),
            ]
        case .varnishd: [(".port = \"8080\"", ".port = \"\(backend)\"")]
        }
    }

    /// The configuration in deploy/proxies, with the ports of a test.
    func documented(_ port: Int, to backend: Int) throws -> String {
        let file = URL(fileURLWithPath: #filePath)
            .appendingPathComponent("../../../../../deploy/proxies/\(fileName)").standardized
        var text = try String(contentsOf: file, encoding: .utf8)
        for (shown, tested) in changes(port, backend) {
            try #require(text.contains(shown), "\(fileName) contains \(shown)")
            text = text.replacing(shown, with: tested)
        }
        return whole(text, port)
    }

    /// Makes the complete configuration of a program from the configuration of one site.
    private func whole(_ shown: String, _ port: Int) -> String {
        switch self {
        case .nginx: Self.nginx(file: shown)
        case .haproxy, .varnishd: shown
        case .caddy: "{\n    admin off\n    auto_https off\n}\n" + shown
        case .apache2: Self.apache(shown, port)
        }
    }

    private static let apacheModules = [
        "mpm_event", "authz_core", "headers", "filter", "deflate", "proxy", "proxy_http",
    ]

    /// - Parameter site: the file of one site.
    private static func apache(_ site: String, _ port: Int) -> String {
        let modules = apacheModules.map {
            "LoadModule \($0)_module /usr/lib/apache2/modules/mod_\($0).so"
        }
        return modules.joined(separator: "\n") + """

            Listen 127.0.0.1:\(port)
            ServerName localhost
            PidFile apache.pid
            DefaultRuntimeDir .
            ErrorLog errors
            User www-data
            Group www-data

            """ + site
    }

    /// - Parameter content: the content of `server`.
    static func nginx(_ content: String, _ port: Int) -> String {
        nginx(file: "server {\n    listen 127.0.0.1:\(port);\n    \(content)\n}\n")
    }

    /// - Parameter file: a file with one `server`.
    private static func nginx(file: String) -> String {
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
        \(file)
        }
        """
    }

    // MARK: - Run

    /// Runs the proxy in front of a server while `body` runs.
    ///
    /// - Parameter configuration: returns the configuration file, given the port of the proxy and
    ///   then the port of the server. Nil for the documented configuration.
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
        process.arguments = arguments(folder.path, file.path, port)
        process.environment = ["HOME": folder.path, "PATH": "/usr/bin:/bin"]
        process.currentDirectoryURL = folder
        process.standardError = FileHandle.nullDevice
        process.standardOutput = FileHandle.nullDevice
        try process.run()
        do {
            try await eventually("\(rawValue) answers") {
                guard process.isRunning, let connection = try? Connection(to: port) else {
                    return false
                }
                let asked = RequestText.get("/health", "").replacing("birds", with: "localhost")
                let answers = try? await connection.answers(to: asked, count: 1)
                return answers?.first?.status == 200
            }
            try await body(port)
        } catch {
            try await Self.end(process, in: folder)
            throw error
        }
        try await Self.end(process, in: folder)
    }

    private static func end(_ process: Process, in folder: URL) async throws {
        kill(process.processIdentifier, SIGTERM)
        let number = process.processIdentifier
        let guardian = DispatchWorkItem { kill(number, SIGKILL) }
        DispatchQueue.global().asyncAfter(deadline: .now() + 20, execute: guardian)
        try await process.waitForEnd()
        guardian.cancel()
        killWorkers(in: folder)
    }

    /// Kills the processes that the proxy has started and that run on after its end. Apache's
    /// workers do so while a client is connected.
    private static func killWorkers(in folder: URL) {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
        for number in names.compactMap({ Int32($0) }) {
            let line = FileManager.default.contents(atPath: "/proc/\(number)/cmdline") ?? Data()
            if line.range(of: Data(folder.path.utf8)) != nil { kill(number, SIGKILL) }
        }
    }

    private func arguments(_ folder: String, _ file: String, _ port: Int) -> [String] {
        switch self {
        case .nginx: ["-p", folder, "-c", file]
        case .haproxy: ["-db", "-f", file]
        case .caddy: ["run", "--config", file, "--adapter", "caddyfile"]
        case .apache2: ["-D", "FOREGROUND", "-d", folder, "-f", file]
        case .varnishd:
            [
                "-F", "-f", file, "-a", "127.0.0.1:\(port)", "-n", folder + "/work", "-s",
                "malloc,16m",
            ]
        }
    }

    /// A port on which nothing was listening a moment ago.
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
