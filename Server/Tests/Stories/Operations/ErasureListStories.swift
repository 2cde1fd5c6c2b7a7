import AppStoreFormats
import Foundation
import Testing

/// Servers on PostgreSQL share a list of erasures in a folder.
@Suite(.serialized) struct ErasureListStories {
    @Test(.timeLimit(.minutes(10)))
    func `on an older PostgreSQL database, a server first repeats the later erasures`()
        async throws
    {
        try await withShop(on: .sqlite, notifies: false) { shop in
            let folder = try TemporaryFolder()
            defer { folder.remove() }
            let list = folder.path + "/list"
            try FileManager.default.createDirectory(
                atPath: list, withIntermediateDirectories: false)
            try await StoryDatabase.postgres.withAddress { address in
                try await StoryDatabase.postgres.withAddress { older in
                    let program = try await ServerProgram(
                        folder: folder, simulator: shop.simulator, on: .postgres, address,
                        more: "settings:\n  erasures: \(list)\n")
                    var server = try await program.start()
                    try await Self.wire(to: server, program).post(
                        "/v1/customers/anna/aliases", ["customer_id": "a-1"])
                    server.kill()
                    let copied = try await program.runWithoutLocation([
                        "migrate", "--from", address, "--to", older,
                    ])
                    #expect(copied.status == 0, "\(copied.output)")
                    server = try await program.start()
                    var wire = Self.wire(to: server, program)
                    #expect(try await wire.send("DELETE", "/v1/customers/anna").status == 200)
                    server.kill()

                    let restored = program.reaching(older)
                    let marked = try await restored.run(["restore", "--mark"])
                    #expect(marked.status == 0, "\(marked.output)")
                    server = try await restored.start()
                    wire = Self.wire(to: server, restored)
                    let log = try await wire.get("/v1/events").text
                    #expect(log.contains("customer_erased") && !log.contains("anna"), "\(log)")
                    server.kill()
                }
            }
        }
    }

    private static func wire(
        to server: ServerProgram.Running, _ program: ServerProgram
    ) -> Wire {
        var wire = server.wire
        wire.bearer = program.key
        return wire
    }
}
