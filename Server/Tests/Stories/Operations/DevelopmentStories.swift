import AppStoreFormats
import Eventually
import Foundation
import Testing

/// Runs `perennial dev` in its own process, and kills it without warning.
@Suite(.serialized) struct DevelopmentStories {
    private static func now(_ dev: DevelopmentProgram) async throws -> String {
        try await dev.simulator.get("/_sim/clock").text("now")
    }

    @Test(.timeLimit(.minutes(10)))
    func `a restart of perennial dev does not set the simulator's clock back`() async throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        var last = ""
        for (body, name) in [
            (["advance": "PT2902346S"], "advanced"), (["set": "2027-01-01T00:00:00Z"], "set"),
            (["advance": "P1M"], "advanced again"),
        ] as [(JSON, String)] {
            let dev = try await DevelopmentProgram.start(in: folder)
            #expect(try await Self.now(dev) >= last, "before it was \(name)")
            try await dev.simulator.post("/_sim/clock", body)
            last = try await Self.now(dev)
            dev.kill()
        }
        let dev = try await DevelopmentProgram.start(in: folder)
        #expect(try await Self.now(dev) >= last)
        // The stored time of a running clock is later than the time that the clock shows.
        try await dev.simulator.post("/_sim/clock", ["rate": 86400])
        let start = try await Self.now(dev)
        try await eventually("the clock moves") { try await Self.now(dev) > start }
        last = try await Self.now(dev)
        dev.kill()
        let again = try await DevelopmentProgram.start(in: folder)
        #expect(try await Self.now(again) >= last)
        again.kill()
    }

    @Test(.timeLimit(.minutes(10)))
    func `requests from another site's page to the server or its simulator are refused`()
        async throws
    {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let dev = try await DevelopmentProgram.start(in: folder)
        defer { dev.kill() }
        for (wire, path) in [(dev.simulator, "/_sim/clock"), (dev.server, "/health")] {
            #expect(try await wire.send("GET", path).status == 200)
            for headers in [
                ["Host": "evil.example"], ["Origin": "https://evil.example"],
                ["Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"],
            ] {
                let answer = try await wire.send("GET", path, headers: headers)
                #expect(answer.status == 403, "\(path) \(headers)")
            }
        }
        let before = try await Self.now(dev)
        let moved = try await dev.simulator.send(
            "POST", "/_sim/clock", body: Array(#"{"advance": "P30D"}"#.utf8),
            headers: ["Origin": "https://evil.example", "Content-Type": "text/plain"])
        #expect(moved.status == 403)
        #expect(try await Self.now(dev) == before)
    }

    @Test(.timeLimit(.minutes(10)))
    func `perennial dev --database uses the given database, and refuses --fresh`() async throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        try await StoryDatabase.postgres.withAddress { address in
            for _ in 1...2 {
                let dev = try await DevelopmentProgram.start(in: folder, ["--database", address])
                #expect(try await dev.simulator.send("GET", "/_sim/clock").status == 200)
                dev.kill()
            }
            #expect(!FileManager.default.fileExists(atPath: folder.path + "/dev.sqlite"))
            let refused = try await DevelopmentProgram.run(
                in: folder, ["--fresh", "--database", address])
            #expect(refused.status == 1, "\(refused.output)")
            #expect(refused.output.contains("--fresh cannot be used"), "\(refused.output)")
        }
    }

    @Test(.timeLimit(.minutes(10)))
    func `a second perennial dev in the same folder is refused, and deletes nothing`() async throws
    {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let dev = try await DevelopmentProgram.start(in: folder)
        let second = try await DevelopmentProgram.run(in: folder, ["--fresh"])
        #expect(second.status == 1 && second.output.contains("Another server"), "\(second.output)")
        #expect(FileManager.default.fileExists(atPath: folder.path + "/dev.sqlite"))
        dev.kill()
    }
}
