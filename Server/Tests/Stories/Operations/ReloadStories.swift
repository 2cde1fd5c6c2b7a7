import Eventually
import Foundation
import Testing

/// The program gets SIGHUP, the signal that `systemctl reload` sends.
@Suite(.serialized) struct ReloadStories {
    private static func content(_ items: [String]) -> String {
        let lines = items.map { "\n        \($0): {published: 2025-01-01, entitlement: pro}" }
        return "\n    content:\n      folder: .\n      items:\(lines.joined())\n"
    }

    @Test(.timeLimit(.minutes(10)))
    func `after SIGHUP a server uses a changed configuration, and ignores an invalid one`()
        async throws
    {
        try await withShop(on: .sqlite, notifies: false) { shop in
            let folder = try TemporaryFolder()
            defer { folder.remove() }
            let ports = (try ServerProgram.freePort(), try ServerProgram.freePort())
            let settings = """
                settings:
                  listen_metrics: 127.0.0.1:\(ports.0)
                  listen_secret: 127.0.0.1:\(ports.1)
                """
            let program = try await ServerProgram(
                folder: folder, simulator: shop.simulator, on: .sqlite, folder.path + "/p.sqlite",
                more: Self.content(["one"]))
            let file = URL(filePath: program.configuration)
            let text = try String(contentsOf: file, encoding: .utf8)
            let server = try await program.start()
            defer { server.kill() }
            var wire = server.wire
            wire.bearer = program.key
            func shown() async throws -> Set<String> {
                let list = try await wire.get("/v1/customers/anna/content?all=true")
                return Set((list["items"]?.array ?? []).compactMap { $0["content_id"]?.string })
            }
            #expect(try await shown() == ["one"])

            let both = text.replacing(Self.content(["one"]), with: Self.content(["one", "two"]))
            try Data(both.utf8).write(to: file)
            kill(server.process, SIGHUP)
            try await eventually("the first change is in use") {
                try await shown() == ["one", "two"]
            }

            try Data(both.replacing("entitlement: pro", with: "entitlment: pro").utf8)
                .write(to: file)
            kill(server.process, SIGHUP)
            let three = text.replacing(
                Self.content(["one"]), with: Self.content(["one", "two", "three"]))
            try Data((three + settings).utf8).write(to: file)
            kill(server.process, SIGHUP)
            try await eventually("the last change is in use") {
                try await shown() == ["one", "three", "two"]
            }
            #expect(
                try await wire.send("GET", "/metrics").status == 200, "addresses need a restart")
        }
    }

    @Test(.timeLimit(.minutes(10)))
    func `metrics and secret keys work only at the addresses set for them`() async throws {
        try await withShop(on: .sqlite, notifies: false) { shop in
            let folder = try TemporaryFolder()
            defer { folder.remove() }
            let metrics = Wire(base: "http://127.0.0.1:\(try ServerProgram.freePort())")
            var secret = Wire(base: "http://127.0.0.1:\(try ServerProgram.freePort())")
            let program = try await ServerProgram(
                folder: folder, simulator: shop.simulator, on: .sqlite, folder.path + "/p.sqlite",
                more: """

                    settings:
                      listen_metrics: \(metrics.base.dropFirst(7))
                      listen_secret: \(secret.base.dropFirst(7))
                    """)
            secret.bearer = program.key
            let server = try await program.start(keysAt: secret)
            defer { server.kill() }
            #expect(try await metrics.send("GET", "/metrics").status == 200)
            #expect(try await metrics.send("GET", "/v1/events").status == 404)
            #expect(try await secret.send("GET", "/v1/events").status == 200)
            var main = server.wire
            main.bearer = program.key
            #expect(try await main.send("GET", "/v1/events").status == 403)
            #expect(try await main.send("GET", "/metrics").status == 404)
        }
    }
}
