import AppStoreFormats
import Foundation
import Testing

@testable import Simulator

/// Runs the examples of docs/simulator.md. Each block runs in a new world with anna's device.
@Suite struct PageExampleTests {
    private static let page = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "../../../docs/simulator.md")

    private static func blocks() throws -> [String] {
        let text = try String(contentsOf: page, encoding: .utf8)
        return text.components(separatedBy: "```http\n").dropFirst().map { rest in
            rest.components(separatedBy: "\n```")[0]
        }
    }

    @Test func `the examples in docs/simulator.md give the answers that the page shows`()
        async throws
    {
        let blocks = try Self.blocks()
        #expect(blocks.count == 5)
        for block in blocks {
            let stage = try Stage(now: "2026-01-01T12:00:00Z")
            try await stage.simulator.addDevice(account: "anna")
            try await stage.withClient { try await Self.run(block, $0) }
        }
    }

    private static func run(_ block: String, _ client: StageClient) async throws {
        var answer = JSON.null
        for line in block.split(separator: "\n") {
            if line.hasPrefix("→ ") {
                let shown = try JSON(parsing: line.dropFirst(2).utf8)
                for member in shown.members ?? [] {
                    #expect(answer[member.key] == member.value, "\(member.key) of \(line)")
                }
                continue
            }
            let words = line.split(separator: " ", maxSplits: 2).map(String.init)
            let body = words.count > 2 ? words[2] : "{}"
            answer = try await client.json(words[1], words[0] == "GET" ? nil : body)
        }
    }
}
