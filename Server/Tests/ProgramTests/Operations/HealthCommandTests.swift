import Foundation
import Testing

@testable import Program

/// `perennial health`, and the address that `perennial dev` listens on: what a container needs.
@Suite struct HealthCommandTests {
    /// Starts `perennial dev`, and sets `$port` once it listens.
    private static func start(_ arguments: String = "") -> String {
        """
        "$perennial" dev --port 0 --simulator-port 0 \(arguments) >said 2>warnings & dev=$!
        trap 'kill $dev 2>/dev/null || true; wait' EXIT
        until grep -q '^keys ' said; do kill -0 $dev; sleep 0.05; done
        port="$(sed -n 's/^server .*://p' said)"

        """
    }

    @Test func `perennial health finds the server by a flag or by environment variables`()
        async throws
    {
        let output = try await BuiltProgram.output(
            of: Self.start() + """
                "$perennial" health --port "$port"
                PERENNIAL_HOST=0.0.0.0 PERENNIAL_PORT="$port" "$perennial" health --ready
                """)
        #expect(output == "{\"status\":\"ok\"}\n{\"status\":\"ready\"}\n")
    }

    @Test func `a server that has ended is not healthy`() async throws {
        let output = try await BuiltProgram.output(
            of: Self.start() + """
                kill $dev
                wait $dev
                "$perennial" health --port "$port" 2>&1 | sed "s/$port/PORT/" || echo "exit code 1"
                """)
        let lines = output.split(separator: "\n")
        #expect(
            lines == [
                "error: No server answers at http://127.0.0.1:PORT/health: the connection was "
                    + "refused.",
                "  Start it with `perennial serve`, or name its address with --host and --port. "
                    + "A server with `tls:` is asked at PERENNIAL_LISTEN_METRICS.",
                "exit code 1",
            ])
    }

    @Test func `a server that answers with a problem is not healthy`() async throws {
        try await TemporaryFolder.with { folder in
            let shop = DevShop(folder: folder)
            let settings = try shop.settings(
                try DevShop.birds, try shop.nextWorld(), logger: .quiet)
            let failure = try await LocalStack.run(settings) { store in
                await #expect(throws: StartFailure.self) {
                    _ = try await HealthCommand.healthyBody(at: store.serverURL + "/nothing")
                }
            }
            let message = try #require(failure as? StartFailure).message
            #expect(message.contains("/nothing answered with status 404"), "\(message)")
        }
    }

    // On Linux, all of 127.0.0.0/8 belongs to this machine, so such an address can stand in for an
    // address of a network.
    @Test(.enabled(if: FileManager.default.fileExists(atPath: "/proc/self")))
    func `perennial dev listens on one address of this machine, unless an option names another`()
        async throws
    {
        let ask = """
            curl -s -o /dev/null "http://127.0.0.2:$port/health" && echo reached || echo refused
            cut -c 1-27 warnings

            """
        let alone = try await BuiltProgram.output(of: Self.start() + ask)
        #expect(alone == "refused\n")
        let variable = "export PERENNIAL_HOST=0.0.0.0\n" + Self.start()
        for start in [Self.start("--host 0.0.0.0"), variable] {
            let open = try await BuiltProgram.output(of: start + ask)
            #expect(open == "reached\nwarning: Listens on 0.0.0.0\n")
        }
    }

    @Test(arguments: [
        ("127.0.0.1", "http://127.0.0.1:80"), ("0.0.0.0", "http://127.0.0.1:80"),
        ("::", "http://127.0.0.1:80"), ("::1", "http://[::1]:80"),
        ("10.0.0.5", "http://10.0.0.5:80"), ("db.example.com", "http://db.example.com:80"),
    ])
    func `a server is reached at its listen address, or at 127.0.0.1 if it listens everywhere`(
        host: String, url: String
    ) {
        #expect(ListenAddress(host: host, port: 80).localURL == url)
    }
}
