import AppStoreFormats
import Eventually
import Foundation
import Ledger
import RevenueCatDouble
import Testing

@testable import Program

/// `perennial rehearse` as on the page docs/rehearsal.md, in its own process, against a double of
/// RevenueCat on the loopback address.
@Suite(.serialized) struct RehearsalCommandStories {
    private static let configuration = """
        apps:
          birds:
            bundle_id: com.example.birds
            app_apple_id: 1234567890
            products:
              pro.monthly: [pro, plus]
              pro.yearly: [pro, plus]
              premium.monthly: [pro, plus, premium]
              plus.monthly: [plus]
              guide: [guide]
              seeds.100: []
              season.spring: []
        """

    private static func page() throws -> [String] {
        let file = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../../../../docs/rehearsal.md")
        return try String(contentsOf: file, encoding: .utf8).components(separatedBy: "\n")
    }

    /// Runs the program in a folder that has the configuration and the database.
    private static func run(
        _ arguments: [String], in folder: TemporaryFolder, key: String
    ) async throws -> (status: Int32, lines: [String]) {
        let process = Process()
        process.executableURL = try ServerProgram.executable()
        process.arguments = arguments + ["--database", "town.sqlite"]
        process.currentDirectoryURL = URL(filePath: folder.path)
        process.environment = ["REVENUECAT_SECRET_KEY": key]
        let (status, bytes) = try await process.output(withErrors: true, within: waitSecondsMax)
        let text = String(decoding: bytes, as: UTF8.self)
        return (status, text.split(separator: "\n").map(String.init))
    }

    /// A town whose purchase histories end now, and whose server uses this folder.
    private static func town(_ count: Int, in folder: TemporaryFolder) async throws
        -> RehearsalTown
    {
        try Data(configuration.utf8).write(to: URL(filePath: folder.path + "/perennial.yaml"))
        let database = try DatabaseAddress.open(folder.path + "/town.sqlite")
        defer { database.close() }
        return try await RehearsalTown.played(
            count, months: 2, seed: 5, until: .machine, in: database)
    }

    /// Removes from a line what differs between runs: numbers, and the text after an ellipsis.
    private static func form(_ line: String) -> String {
        let begin = line.components(separatedBy: "…")[0]
        return begin.replacing(#/proj\w+/#, with: "PROJECT").replacing(#/\d+/#, with: "N")
            .split(separator: " ").joined(separator: " ")
    }

    @Test func `the commands of docs/rehearsal.md work, and print what the page shows`()
        async throws
    {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let town = try await Self.town(60, in: folder)
        town.double.set(now: AppStoreDate(milliseconds: Instant.machine.milliseconds))
        _ = town.double.plant([.lost: 2, .wrongGrant: 2], seed: 1)
        let page = try Self.page()
        let commands = page.filter { $0.hasPrefix("    perennial rehearse ") }
            .map { $0.split(separator: " ").dropFirst().map(String.init) }
        #expect(commands.count == 2)
        let project = town.double.project
        let results = try await LoopbackDouble(town.double).serve { base in
            let more = ["--from", base, "--second-look-seconds", "0"]
            let first = commands[0].map { $0.hasPrefix("proj") ? project.id : $0 }
            return [
                try await Self.run(first + more, in: folder, key: project.v2Key),
                try await Self.run(commands[1], in: folder, key: ""),
            ]
        }
        let (compared, verified) = (try #require(results?.first), try #require(results?.last))
        #expect(compared.status == 0, "\(compared.lines)")
        #expect(verified.status == 0, "\(verified.lines)")
        #expect(compared.lines.contains("The dashboard shows the result at /rehearsal."))
        let shown = page.drop { !$0.hasPrefix("    10000 customers") }.prefix { !$0.isEmpty }
        #expect(shown.count == 8)
        for line in shown.map(Self.form) {
            #expect(
                compared.lines.contains { Self.form($0).hasPrefix(line) },
                "\(line): \(compared.lines)")
            #expect(
                verified.lines.contains { Self.form($0).hasPrefix(line) },
                "\(line): \(verified.lines)")
        }
        let report = try String(contentsOfFile: folder.path + "/rehearsal.csv", encoding: .utf8)
        #expect(report.contains("granted_there,") && report.contains("missed_there,"))
    }

    @Test func `the exit code is 1 if anything is unexplained, and failures name a remedy`()
        async throws
    {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let town = try await RehearsalTown.played(40, months: 2, seed: 5, until: .machine)
        // This server has no customers at all.
        _ = try await Self.town(0, in: folder)
        let project = town.double.project
        let strange = try #require(town.customers.last?.appUserID)
        try Data("nobody\n\(strange)\n".utf8).write(to: URL(filePath: folder.path + "/ids.txt"))
        typealias Result = (status: Int32, lines: [String])
        let results = try await LoopbackDouble(town.double).serve { base -> [Result] in
            let usual = ["rehearse", "--from", base, "--second-look-seconds", "0", "--project"]
            return [
                try await Self.run(
                    usual + [project.id, "--customers", "ids.txt"], in: folder,
                    key: project.v2Key),
                try await Self.run(usual + [project.id], in: folder, key: "sk_wrong"),
                try await Self.run(usual + ["projother"], in: folder, key: project.v2Key),
            ]
        }
        let found = try #require(results)
        #expect(found.allSatisfy { $0.status == 1 })
        #expect(
            found[0].lines.contains { $0.contains(#/^[1-9]\d* unexplained of \d+ customers$/#) })
        #expect(found[1].lines.first == "error: RevenueCat does not accept the key.")
        #expect(found[2].lines.first == "error: RevenueCat has no project projother for this key.")
        #expect(found.dropFirst().allSatisfy { $0.lines.count == 2 }, "\(found)")
    }
}
