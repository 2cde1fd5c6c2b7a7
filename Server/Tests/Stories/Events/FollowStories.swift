import AppStoreFormats
import Eventually
import Foundation
import Testing

/// Runs `perennial events follow` in its own process while servers stop and start.
@Suite(.serialized) struct FollowStories {
    private static let count = 20

    @Test(.timeLimit(.minutes(10)), arguments: StoryDatabase.allCases)
    func `perennial events follow prints each event once, even if the server is killed`(
        database: StoryDatabase
    ) async throws {
        try await withShop(on: .sqlite, notifies: false) { shop in
            try await database.withAddress { address in
                let folder = try TemporaryFolder()
                defer { folder.remove() }
                let program = try await ServerProgram(
                    folder: folder, simulator: shop.simulator, on: database, address)
                let first = try await program.start()
                try await Self.give(Self.count, by: program, at: first)
                let (follower, lines) = try Self.follow(program, in: folder, ["--format", "json"])
                try await eventually("\(Self.count) lines") { try lines().count == Self.count }
                let (late, lateLines) = try Self.follow(program, in: folder, ["--after", "15"])
                first.kill()
                let second = try await program.start()
                try await Self.give(Self.count, by: program, at: second)
                try await eventually("\(2 * Self.count) lines") {
                    try lines().count >= 2 * Self.count
                }
                try await eventually("the lines of the second reader") {
                    try lateLines().count >= 2 * Self.count - 15
                }
                #expect(try await follower.stop(within: 60, by: SIGINT) == 0)
                #expect(try await late.stop(within: 60) == 0)
                second.kill()
                let sequences = try lines().map { line in
                    try JSON(parsing: line.utf8)["sequence"]?.integer
                }
                #expect(sequences == (1...2 * Self.count).map(Int64.init))
                let cursors = try lateLines().map { $0.split(separator: " ").first }
                #expect(cursors == (16...2 * Self.count).map { "\($0)" })
                #expect(try lateLines().allSatisfy { $0.contains("  granted  anna  pro") })
            }
        }
    }

    @Test
    func `perennial events follow refuses a cursor that is invalid or past the end of the log`()
        async throws
    {
        try await withShop(on: .sqlite, notifies: false) { shop in
            let folder = try TemporaryFolder()
            defer { folder.remove() }
            let program = try await ServerProgram(
                folder: folder, simulator: shop.simulator, on: .sqlite, folder.path + "/p.sqlite")
            for (cursor, message) in [("7", "past the end"), ("x", "no cursor")] {
                let ended = try await program.run(
                    ["events", "follow", "--after", cursor], within: 60)
                #expect(ended.status == 1)
                #expect(ended.output.contains(message), "\(ended.output)")
            }
        }
    }

    private static func give(
        _ count: Int, by program: ServerProgram, at server: ServerProgram.Running
    ) async throws {
        var wire = server.wire
        wire.bearer = program.key
        let order: JSON = ["entitlement": "pro", "reason": "story"]
        for _ in 0..<count {
            let answer = try await wire.send(
                "POST", "/v1/customers/anna/grants", body: order.bytes)
            try #require(answer.status == 200)
        }
    }

    /// Begins to follow. The returned function returns the lines printed so far.
    private static func follow(
        _ program: ServerProgram, in folder: TemporaryFolder, _ arguments: [String]
    ) throws -> (ServerProgram.Running, () throws -> [Substring]) {
        let file = URL(filePath: "\(folder.path)/\(UUID()).txt")
        try Data().write(to: file)
        let output = try FileHandle(forWritingTo: file)
        let follower = try program.begin(["events", "follow"] + arguments, writing: output)
        return (
            follower,
            {
                // The text after the last line break is an unfinished line.
                let text = try String(contentsOf: file, encoding: .utf8)
                return text.split(separator: "\n", omittingEmptySubsequences: false).dropLast()
            }
        )
    }
}
