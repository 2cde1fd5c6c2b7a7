import AppStoreFormats
import Foundation
import PostgresCluster
import Testing

/// Everything that a server stores is written into a folder, and a second server reads it.
@Suite(.serialized) struct PackageStories {
    private static let members = ["entitlements", "subscriptions", "aliases"]

    @Test(.timeLimit(.minutes(10)), arguments: StoryDatabase.allCases)
    func `a server that imports another server's package gives the same answers`(
        database: StoryDatabase
    ) async throws {
        try await withShop(on: .sqlite, notifies: false) { shop in
            let folder = try TemporaryFolder()
            defer { folder.remove() }
            try await database.withAddress { address in
                let program = try await ServerProgram(
                    folder: folder, simulator: shop.simulator, on: database, address)
                let bought = try await shop.buyMonth("anna")
                let server = try await program.start()
                var wire = server.wire
                wire.bearer = program.key
                try await Self.act(bought, wire)
                let before = try await Self.answers(wire)
                // A SQLite file can be copied while its server runs.
                if database == .postgres { server.kill() }
                let package = folder.path + "/package"
                let written = try await program.run(["export", "package", package])
                #expect(written.status == 0, "\(written.output)")
                if database == .sqlite { server.kill() }
                for target in [
                    folder.path + "/second.sqlite",
                    try await PostgresCluster.shared.emptyDatabase(),
                ] {
                    let read = try await program.runWithoutLocation(
                        ["migrate", "--from", package, "--to", target])
                    #expect(read.status == 0, "\(read.output)")
                    let second = program.reaching(target)
                    let verdict = try await second.run(["rebuild", "--verify"])
                    #expect(verdict.status == 0, "\(verdict.output)")
                    let running = try await second.start()
                    var other = running.wire
                    other.bearer = program.key
                    #expect(try await Self.answers(other) == before)
                    running.kill()
                }
            }
        }
    }

    private static func act(_ bought: JSON, _ wire: Wire) async throws {
        try await wire.post(
            "/v1/purchases",
            [
                "customer_id": "anna",
                "signed_transactions": [.string(try bought.text("signed_transaction"))],
            ])
        try await wire.post("/v1/customers/anna/aliases", ["customer_id": "device-1"])
        try await wire.post(
            "/v1/customers/ben/grants", ["entitlement": "pro", "reason": "a winner"])
    }

    private static func answers(_ wire: Wire) async throws -> [JSON] {
        var answers: [JSON] = []
        for id in ["anna", "device-1", "ben", "nobody"] {
            let answer = try await wire.send("GET", "/v1/customers/\(id)")
            #expect(answer.status == 200)
            for member in members { answers.append(try answer.json[member] ?? .null) }
        }
        return answers
    }
}
