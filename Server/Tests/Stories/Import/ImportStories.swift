import AppStoreFormats
import Engine
import Eventually
import Foundation
import Ledger
import Storage
import Synchronization
import Testing

@testable import Program

/// The data of another backend is imported once.
@Suite(.serialized) struct ImportStories {
    private static func run(
        _ kind: ImportKind, _ lines: [String], with engine: Engine, in folder: TemporaryFolder,
        isTrial: Bool = false, isAnew: Bool = false,
        sleep: @escaping @Sendable (Duration) async throws -> Void = { _ in }
    ) async throws -> (position: ImportPosition, nameless: Int64?, report: String) {
        let file = URL(filePath: folder.path + "/\(kind.rawValue).csv")
        try Data((lines.joined(separator: "\n") + "\n").utf8).write(to: file)
        let report = URL(filePath: folder.path + "/\(kind.rawValue).\(isTrial).csv")
        let run = ImportRun(
            engine: engine, app: "birds", kind: kind, file: file, report: report,
            isTrial: isTrial, isAnew: isAnew, sleep: sleep)
        let (position, nameless) = try await run.run()
        return (position, nameless, try String(contentsOf: report, encoding: .utf8))
    }

    @Test(arguments: StoryDatabase.allCases)
    func `an import links each receipt to its row's customer, and a second import changes nothing`(
        database: StoryDatabase
    ) async throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        try await withShop(on: database, notifies: false) { shop in
            var lines = ["customer_id,app_receipt"]
            for name in ["anna", "ben", "cleo"] {
                try await shop.addDevice(name)
                try await shop.simulator.post(
                    "/_sim/devices/\(name)-1/purchases", ["product_id": "pro.monthly"])
                let receipt = try await shop.simulator.get("/_sim/devices/\(name)-1/receipt")
                lines.append("\(name),\(try receipt.text("app_receipt"))")
            }
            lines.insert("dora,QUJD", at: 2)
            lines.append("null,\(lines[1].dropFirst(5))")
            let trial = try await Self.run(
                .receipts, lines, with: shop.engine, in: folder, isTrial: true)
            #expect(try await shop.documentCount() == 0)
            let found = try await Self.run(.receipts, lines, with: shop.engine, in: folder)
            for position in [trial.position, found.position] {
                #expect(position.used == 4 && position.refused == 1)
            }
            #expect(trial.nameless == 1 && found.nameless == 1)
            #expect(found.report == trial.report)
            #expect(found.report.hasPrefix("line,customer_id,reason\n3,dora,"))
            #expect(try await shop.documentCount() == 3)
            for name in ["anna", "ben", "cleo"] {
                let pro = try #require(try await shop.entitlement("pro", of: name))
                #expect(pro["active"] == true)
                let history = try await shop.engine.customers.history(
                    of: CustomerID(rawValue: name), app: "birds", environment: .production)
                let facts = history.filter { $0.kind == .fact }.map(\.sentence)
                #expect(!facts.isEmpty && facts.allSatisfy { $0.contains("an imported file") })
            }
            // The import is complete: a second run has nothing left to do, and a new import changes
            // nothing.
            for isAnew in [false, true] {
                let again = try await Self.run(
                    .receipts, lines, with: shop.engine, in: folder, isAnew: isAnew)
                #expect(again.position.used == 4 && again.position.refused == 1)
                #expect(again.report == found.report)
            }
            #expect(try await shop.documentCount() == 3)
        }
    }

    @Test
    func `an import does not change the owner of a linked purchase, and reports the refused row`()
        async throws
    {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        try await withShop(on: .sqlite, notifies: false, questions: .due) { shop in
            let number = try await shop.buy("anna")
            let lines = ["anna,\(number)", "ben,\(number)", ",\(number)"]
            let found = try await Self.run(
                .originalTransactionIDs, lines, with: shop.engine, in: folder)
            #expect(found.position.used == 2)
            let refusal = try #require(found.report.split(separator: "\n").last)
            #expect(refusal.hasPrefix("2,ben,") && refusal.contains(number))
            #expect(try await shop.entitlement("pro", of: "anna")?["active"] == true)
            #expect(try await shop.entitlement("pro", of: "ben") == nil)
        }
    }

    private static let token = "0f4c7b9e-1d2a-4c3b-8e5f-6a7b8c9d0e1f"

    @Test(arguments: ["import", "document", "support"], StoryDatabase.allCases)
    func `an import gives at most temporary access if the receipt's token names another customer`(
        first: String, database: StoryDatabase
    ) async throws {
        try await withShop(on: database, notifies: false) { shop in
            let bought = try await shop.buyMonth("anna", token: Self.token)
            let receipt = try bought.text("app_receipt")
            if first == "document" { #expect(try await shop.post(bought, as: "carl") == 409) }
            let outcome = try await shop.engine.imports.record(
                receipt: receipt, of: "ben", app: "birds")
            #expect((outcome == .recorded) == (first != "document"))
            if first != "document" {
                #expect(try await shop.entitlement("pro", of: "ben")?["active"] == true)
            }
            if first == "support" {
                try await shop.support.post(
                    "/v1/customers/ben/transfers",
                    [
                        "original_transaction_id": .string(
                            try bought.text("original_transaction_id")),
                        "reason": "ticket 7",
                    ])
            }
            // A decision by support stays. Without a decision by support, the purchase goes to the
            // customer whom it names, in whatever order the import and the purchase came.
            let isBens = first == "support"
            #expect(try await shop.post(bought, as: Self.token) == (isBens ? 409 : 200))
            for (name, has) in [("ben", isBens), (Self.token, !isBens)] {
                let pro = try await shop.entitlement("pro", of: name)
                #expect((pro?["active"] == true) == has)
            }
            #expect(try await shop.engine.maintenance.rebuild(verifyOnly: true).isClean)
        }
    }

    @Test(
        arguments: [OwnershipClaim.RestorePolicy.keep, .transfer],
        [ImportKind.receipts, .originalTransactionIDs])
    func `the restore policy decides whether a device gets an imported purchase`(
        policy: OwnershipClaim.RestorePolicy, kind: ImportKind
    ) async throws {
        var app = birds
        app.settings.restorePolicies = [.production: policy]
        try await withShop(on: .sqlite, app: app, notifies: false, questions: .due) { shop in
            let bought = try await shop.buyMonth("anna")
            let imported: ImportOutcome
            switch kind {
            case .receipts:
                imported = try await shop.engine.imports.record(
                    receipt: try bought.text("app_receipt"), of: "old-id", app: "birds")
            default:
                imported = try await shop.engine.imports.record(
                    transaction: try bought.text("original_transaction_id"), of: "old-id",
                    app: "birds", in: .production)
            }
            #expect(imported == .recorded)
            let isMoved = policy == .transfer
            #expect(try await shop.post(bought, as: "anna") == (isMoved ? 200 : 409))
            for (name, has) in [("old-id", !isMoved), ("anna", isMoved)] {
                let pro = try await shop.entitlement("pro", of: name)
                #expect((pro?["active"] == true) == has)
            }
        }
    }

    @Test func `an unknown or invalid transaction id in an import is reported with its line`()
        async throws
    {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        try await withShop(on: .sqlite, notifies: false, questions: .due) { shop in
            let number = try await shop.buy("anna")
            let lines = [
                "customer_id,original_transaction_id", "anna,\(number)", "ben,999999",
                "cleo,12x", "guest,\(number)", "dora,",
            ]
            let found = try await Self.run(
                .originalTransactionIDs, lines, with: shop.engine, in: folder)
            #expect(found.position.used == 1 && found.position.refused == 4)
            let rows = found.report.split(separator: "\n").dropFirst()
            #expect(rows.map { $0.prefix { $0 != "," } } == ["3", "4", "5", "6"])
        }
    }

    @Test func `each App Store customer in an imported RevenueCat export gets access`()
        async throws
    {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        try await withShop(on: .sqlite, notifies: false, questions: .due) { shop in
            let (one, two) = (try await shop.buy("anna"), try await shop.buy("ben"))
            let sandbox = try await shop.buy("cleo", ["environment": "sandbox"])
            let device = RevenueCatPhone.anonymous("phone")
            let lines = [
                "rc_original_app_user_id;rc_last_seen_app_user_id_alias;store;is_sandbox;"
                    + "store_transaction_id;original_store_transaction_id",
                "\(device);anna;app_store;false;\(one);\(one)",
                "old-ben;ben;app_store;false;\(two);\(two)",
                "cleo;cleo;app_store;true;\(sandbox);\(sandbox)",
                "dora;dora;play_store;false;GPA.1;GPA.1",
            ]
            let found = try await Self.run(
                .revenueCat, lines, with: shop.engine, in: folder)
            #expect(found.position.used == 3 && found.position.refused == 1)
            for name in ["anna", device, "ben", "old-ben"] {
                #expect(try await shop.entitlement("pro", of: name)?["active"] == true)
            }
            #expect(try await shop.entitlement("pro", of: "cleo") == nil)
            let sandboxed = try await shop.entitlement("pro", of: "cleo", "?environment=sandbox")
            #expect(sandboxed?["active"] == true)
        }
    }

    @Test
    func `an import gives no access to another person who has signed in on the listed device`()
        async throws
    {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        try await withShop(on: .sqlite, notifies: false, questions: .due) { shop in
            let number = try await shop.buy("anna")
            let device = RevenueCatPhone.anonymous("phone")
            try await shop.support.post(
                "/v1/customers/zoe/aliases", ["customer_id": .string(device)])
            let lines = [
                "rc_original_app_user_id;rc_last_seen_app_user_id_alias;store;is_sandbox;"
                    + "store_transaction_id;original_store_transaction_id",
                "\(device);anna;app_store;false;\(number);\(number)",
            ]
            let found = try await Self.run(.revenueCat, lines, with: shop.engine, in: folder)
            #expect(found.position.used == 1)
            #expect(try await shop.entitlement("pro", of: "anna")?["active"] == true)
            #expect(try await shop.entitlement("pro", of: "zoe") == nil)
        }
    }

    @Test
    func `an import stops if the App Store does not answer, and a later run completes the import`()
        async throws
    {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        try await withShop(on: .sqlite, notifies: false, questions: .due) { shop in
            let lines = try await shop.fiveWhoBought()
            let pauses = Pauses()
            try await shop.simulator.post("/_sim/faults", ["api": ["retryable_error": 1]])
            let failure = await #expect(throws: StartFailure.self) {
                try await Self.run(
                    .originalTransactionIDs, lines, with: shop.engine, in: folder,
                    sleep: { pauses.add($0) })
            }
            #expect(failure?.description.contains("continues from here") == true)
            #expect(pauses.all.count >= ImportRun.attemptsMax - 1)
            try await shop.simulator.post("/_sim/faults", ["api": ["retryable_error": 0]])
            let found = try await Self.run(
                .originalTransactionIDs, lines, with: shop.engine, in: folder)
            #expect(found.position.used == 5 && found.position.refused == 0)
        }
    }

    @Test func `an import waits each time the App Store limits its rate, and reads every row`()
        async throws
    {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        try await withShop(on: .sqlite, notifies: false, questions: .due) { shop in
            let lines = try await shop.fiveWhoBought()
            let pauses = Pauses()
            try await shop.simulator.post("/_sim/faults", ["api": ["rate_limit": .decimal("0.75")]])
            let found = try await Self.run(
                .originalTransactionIDs, lines, with: shop.engine, in: folder,
                sleep: { pauses.add($0) })
            #expect(found.position.used == 5 && found.position.refused == 0)
            #expect(pauses.all.count > ImportRun.attemptsMax)
        }
    }

    private static let rows = 900

    @Test(.timeLimit(.minutes(10)))
    func `a killed and restarted import gives the same result as an uninterrupted import`()
        async throws
    {
        try await withShop(on: .sqlite, notifies: false) { shop in
            var lines = ["customer_id,original_transaction_id"]
            for number in 1...Self.rows {
                let id = try await shop.buy("c\(number)")
                lines.append("c\(number),\(number.isMultiple(of: 100) ? "77" + id : id)")
            }
            let text = lines.joined(separator: "\n")
            let whole = try await Self.importing(text, shop, killing: false)
            let killed = try await Self.importing(text, shop, killing: true)
            #expect(whole == killed)
            #expect(whole.events > Self.rows && whole.report.split(separator: "\n").count == 10)
        }
    }

    private struct Left: Equatable {
        var report: String
        var summary: String
        var events: Int64
    }

    private static func importing(
        _ text: String, _ shop: Shop, killing: Bool
    ) async throws -> Left {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let database = folder.path + "/import.sqlite"
        let program = try await ServerProgram(
            folder: folder, simulator: shop.simulator, on: .sqlite, database, leaseSeconds: 300)
        let file = folder.path + "/ids.csv"
        try Data(text.utf8).write(to: URL(filePath: file))
        let arguments = [
            "import", "original-transaction-ids", file, "--clock-from", shop.simulator.base,
            "--log-level", "critical",
        ]
        if killing {
            let running = try program.begin(arguments)
            // A third of the file is imported before the kill.
            try await eventually("a third is imported") {
                try await program.linesImported() > rows / 3
            }
            running.kill()
            #expect(try await program.linesImported() < rows)
        }
        let end = try await program.run(arguments)
        #expect(end.status == 0, "\(end.output)")
        try await program.expectClean()
        let summary = end.output.split(separator: "\n").last.map(String.init) ?? ""
        return Left(
            report: try String(contentsOfFile: file + ".report.csv", encoding: .utf8),
            summary: String(summary.prefix { $0 != ":" }),
            events: try await program.eventCount())
    }
}

private final class Pauses: Sendable {
    private let found = Mutex<[Duration]>([])
    var all: [Duration] { found.withLock { $0 } }
    func add(_ pause: Duration) { found.withLock { $0.append(pause) } }
}

extension Shop {
    /// Returns the id of the first transaction.
    fileprivate func buy(_ name: String, _ more: [String: JSON] = [:]) async throws -> String {
        try await addDevice(name, more)
        let bought = try await simulator.post(
            "/_sim/devices/\(name)-1/purchases", ["product_id": "pro.monthly"])
        return try bought.text("original_transaction_id")
    }

    /// Five customers buy. Returns a row of the file for each of them.
    fileprivate func fiveWhoBought() async throws -> [String] {
        var rows: [String] = []
        for number in 1...5 { rows.append("c\(number),\(try await buy("c\(number)"))") }
        return rows
    }

    fileprivate func documentCount() async throws -> Int {
        try await Database(database).read { try $0.documents.count() }
    }
}

extension ServerProgram {
    /// The number of lines imported so far.
    fileprivate func linesImported() async throws -> Int {
        guard FileManager.default.fileExists(atPath: database) else { return 0 }
        let opened = try engine.open(database)
        defer { opened.close() }
        let lines = try await opened.read {
            try $0.number("SELECT coalesce(max(lines_read), 0) FROM imports")
        }
        return Int(lines)
    }
}
