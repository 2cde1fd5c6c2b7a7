import AppStoreFormats
import Eventually
import Foundation
import Ledger
import RevenueCatDouble
import Testing

@testable import Program

/// `perennial import-revenuecat` in its own process, against a double of RevenueCat on the loopback
/// address.
@Suite(.serialized) struct RevenueCatCommandStories {
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
              season.spring: []
              seeds.100: {credits: {coins: 1}}
              gems.100: {credits: {gems: 100}}
        """
    private static let report = "import-revenuecat.report.csv"
    /// Customers who have a balance at RevenueCat, and whom this server does not know.
    private static let newcomers = (1...12).map { "newcomer-\($0)" }
    private static let aliased = 10

    private static func town(in folder: TemporaryFolder) async throws -> RehearsalTown {
        try Data(configuration.utf8).write(to: URL(filePath: folder.path + "/perennial.yaml"))
        let database = try DatabaseAddress.open(folder.path + "/town.sqlite")
        defer { database.close() }
        let town = try await RehearsalTown.played(
            30, months: 2, seed: 7, until: .machine, in: database)
        town.double.set(now: AppStoreDate(milliseconds: Instant.machine.milliseconds))
        for (number, customer) in town.customers.prefix(aliased).enumerated() {
            town.double.alias(customer.appUserID, "person-\(number)@example.com")
        }
        // RevenueCat's list leaves customers out, so the ids are in a file, too.
        try Data(newcomers.joined(separator: "\n").utf8)
            .write(to: URL(filePath: folder.path + "/ids.txt"))
        for (number, id) in newcomers.enumerated() {
            town.double.setBalance(Int64(10 + number), of: "GEM", for: id)
        }
        return town
    }

    private static func process(
        _ more: [String], _ town: RehearsalTown, at base: String, in folder: TemporaryFolder,
        key: String? = nil
    ) throws -> Process {
        let process = Process()
        process.executableURL = try ServerProgram.executable()
        process.arguments =
            [
                "import-revenuecat", "--project", town.double.project.id, "--from", base,
                "--database", "town.sqlite",
            ] + more
        process.currentDirectoryURL = URL(filePath: folder.path)
        process.environment = ["REVENUECAT_SECRET_KEY": key ?? town.double.project.v2Key]
        return process
    }

    private static func run(
        _ more: [String], _ town: RehearsalTown, at base: String, in folder: TemporaryFolder,
        key: String? = nil
    ) async throws -> (status: Int32, lines: [String]) {
        let process = try process(more, town, at: base, in: folder, key: key)
        let (status, bytes) = try await process.output(withErrors: true, within: waitSecondsMax)
        let text = String(decoding: bytes, as: UTF8.self)
        return (status, text.split(separator: "\n").map(String.init))
    }

    private static func number(_ select: String, in folder: TemporaryFolder) async throws -> Int64 {
        let database = try DatabaseAddress.open(folder.path + "/town.sqlite")
        defer { database.close() }
        return try await database.read { try $0.number(select) }
    }

    private static let countIDs = "SELECT count(*) FROM customer_ids WHERE id LIKE 'person-%'"
    private static let sumBalances =
        "SELECT coalesce(sum(balance), 0) FROM wallets WHERE currency = 'gems'"

    private static let withBalances = [
        "--balances", "--currency", "GEM=gems", "--customers", "ids.txt",
    ]

    @Test(arguments: [3, 12, 20])
    func `an import that is killed and run again takes every id and every balance once`(
        answers: Int
    ) async throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let town = try await Self.town(in: folder)
        var faults = RevenueCatDouble.TransportFaults()
        (faults.omittedCustomers, faults.repeatedCustomers) = (0.2, 0.2)
        faults.tooManyRequests = 0.02
        town.double.set(faults: faults)

        let hold = LoopbackDouble.Hold(after: answers)
        _ = try await LoopbackDouble(town.double, hold: hold).serve { base in
            let process = try Self.process(Self.withBalances, town, at: base, in: folder)
            try process.run()
            try await eventually("the import waits for an answer", within: waitSecondsMax) {
                hold.isHolding || !process.isRunning
            }
            #expect(process.isRunning, "the import ended before it was killed")
            kill(process.processIdentifier, SIGKILL)
            try await process.waitForEnd()
        }
        let results = try await LoopbackDouble(town.double).serve { base in
            [
                try await Self.run(Self.withBalances, town, at: base, in: folder),
                try await Self.run([], town, at: base, in: folder),
                try await Self.run(Self.withBalances, town, at: base, in: folder),
            ]
        }
        let found = try #require(results)
        #expect(found[0].status == 0 && found[1].status == 0, "\(found)")
        #expect(found[1].lines.last?.contains("0 ids added") == true, "\(found[1].lines)")
        #expect(found[2].status == 1, "the balances were imported to the end")
        #expect(found[2].lines.contains { $0.contains("--anew") }, "\(found[2].lines)")
        #expect(try await Self.number(Self.countIDs, in: folder) == Int64(Self.aliased))
        let sum = Self.newcomers.indices.reduce(0) { $0 + Int64(10 + $1) }
        #expect(try await Self.number(Self.sumBalances, in: folder) == sum)
    }

    @Test func `a trial changes nothing, and each failure names a remedy`() async throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let town = try await Self.town(in: folder)
        let results = try await LoopbackDouble(town.double).serve { base in
            let unknown = ["--balances", "--currency", "GEM=pearls"]
            return [
                try await Self.run(Self.withBalances + ["--dry-run"], town, at: base, in: folder),
                try await Self.run([], town, at: base, in: folder, key: "sk_wrong"),
                try await Self.run([], town, at: base, in: folder, key: "appl_public"),
                try await Self.run(unknown, town, at: base, in: folder),
                try await Self.run([], town, at: "http://127.0.0.1:9", in: folder),
            ]
        }
        let found = try #require(results)
        #expect(found[0].status == 0, "\(found[0].lines)")
        #expect(found[0].lines.last?.contains("would be added") == true, "\(found[0].lines)")
        #expect(try await Self.number(Self.countIDs, in: folder) == 0)
        #expect(try await Self.number(Self.sumBalances, in: folder) == 0)
        let sentences = [
            "RevenueCat does not accept the key", "not a secret key", "has no currency pearls",
        ]
        for (result, sentence) in zip(found.dropFirst(), sentences) {
            #expect(result.lines.first?.contains(sentence) == true, "\(result.lines)")
        }
        for result in found.dropFirst() {
            #expect(result.status == 1, "\(result.lines)")
            #expect(result.lines.contains { $0.hasPrefix("error: ") }, "\(result.lines)")
        }
    }
}
