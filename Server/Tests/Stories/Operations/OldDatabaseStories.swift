import AppStoreFormats
import Eventually
import Foundation
import Logging
import Testing

@testable import Program

/// Databases that earlier versions of the program made are opened by this one, and stay true.
///
/// Each version of the schema that was in use has its files in `Fixtures/databases`: the database
/// of a development server, compressed, the simulator's root that signed its documents, and what
/// that server answered about each customer.
@Suite(.serialized) struct OldDatabaseStories {
    private static let fixtures = URL(filePath: #filePath)
        .deletingLastPathComponent()
        .appending(path: "../../../../Fixtures/databases").standardized

    /// The schemas that have fixtures. Each change of the schema adds one: see `make-fixture`.
    private static let versions = [15, 21, 22, 25, 26, 28, 29, 33, 34]

    @Test(arguments: versions)
    func `an old database gives the same answers, and its rows follow from its documents`(
        version: Int
    ) async throws {
        try await Self.withServer(on: version) { server, store, then in
            for member in then["customers"]?.members ?? [] {
                let words = member.key.split(separator: " ")
                let answer = try await server.get(
                    "/v1/customers/\(words[0])?environment=\(words[1])")
                let lost = Self.differences(from: member.value, to: answer, at: member.key)
                #expect(lost.isEmpty, "\(lost)")
            }
            let found = try await store.engine.rebuild(verifyOnly: true)
            #expect(found.isClean, "\(found)")
        }
    }

    @Test(arguments: versions)
    func `the log of an old database is read on from an old cursor`(version: Int) async throws {
        try await Self.withServer(on: version) { server, _, then in
            let events = try #require(then["events"]?["items"]?.array)
            let lost = Self.differences(
                from: .array(events),
                to: try await server.get("/v1/events?limit=500")["items"] ?? .null, at: "events")
            #expect(lost.isEmpty, "\(lost)")
            let cursor = try #require(then["events"]?["next_cursor"])
            let page = try await server.get("/v1/events?after=\(cursor.string ?? cursor.text)")
            #expect(page["items"]?.array?.isEmpty == true, "\(page.text)")
        }
    }

    @Test(arguments: versions)
    func `an old database takes in what happens next`(version: Int) async throws {
        try await Self.withServer(on: version) { server, store, then in
            let simulator = Wire(base: store.simulatorURL)
            try await simulator.post("/_sim/devices", ["account": "ida"])
            let bought = try await simulator.post(
                "/_sim/devices/ida-1/purchases", ["product_id": "pro.monthly"])
            let state = try await server.post(
                "/v1/purchases",
                [
                    "customer_id": "ida",
                    "signed_transactions": [.string(try bought.text("signed_transaction"))],
                ])
            #expect(state["entitlements"]?["pro"]?["active"] == true)
            let anna = try await server.post(
                "/v1/customers/anna/grants", ["entitlement": "pro", "reason": "ticket 8"])
            #expect(anna["grant_id"]?.string != nil)
            // A debit of then is still one, and what is given now is not.
            let eve = then["customers"]?["eve production"]?["wallets"]?["seeds"]?["balance"]?
                .integer
            let given = try await server.send(
                "POST", "/v1/customers/eve/wallets/seeds/credits",
                body: Array(#"{"amount": 50, "reason": "ticket 9"}"#.utf8),
                headers: ["Idempotency-Key": "ticket-9"])
            #expect(try given.json["balance"]?.integer == (eve ?? 0) + 50)
            let lines = try await server.get("/v1/customers/eve/wallets/seeds")["items"]?.array
            let kinds = lines?.compactMap { $0["kind"]?.string } ?? []
            #expect(kinds.first == "credit" && !kinds.dropFirst().contains("credit"))
            #expect(kinds.contains("debit") == (eve != nil))
            // The numbers of the log go on, also those of a customer who had events.
            let log = try await server.get("/v1/events?limit=500")["items"]?.array ?? []
            let before = then["events"]?["items"]?.array ?? []
            #expect(log.count > before.count)
            #expect(log.map { $0["sequence"]?.integer } == log.indices.map { Int64($0 + 1) })
            let numbers = log.filter { $0["customer_id"] == "anna" }
                .map { $0["customer_sequence"]?.integer }
            #expect(numbers == numbers.indices.map { Int64($0 + 1) })
            #expect(try await store.engine.rebuild(verifyOnly: true).isClean)
        }
    }

    // MARK: -

    private static func withServer(
        on version: Int,
        _ story: @escaping @Sendable (Wire, LocalStack, JSON) async throws -> Void
    ) async throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let name = fixtures.path + "/schema-\(version)"
        let then = try JSON(parsing: Array(try Data(contentsOf: URL(filePath: name + ".json"))))
        try unpack(name + ".sqlite.gz", to: folder.path + "/dev.sqlite")
        try FileManager.default.copyItem(
            atPath: name + ".authority", toPath: folder.path + "/simulator-authority")
        let shop = DevShop(folder: folder.path)
        let now = try #require(then["now_ms"]?.integer)
        let settings = try shop.settings(
            try shop.example(), DevShop.World(seed: 2, now: now),
            logger: Logger(label: "story") { _ in SwiftLogNoOpLogHandler() })
        let end: Void? = try await LocalStack.run(settings) { store in
            try await story(Wire(base: store.serverURL, bearer: "sk_dev_birds"), store, then)
        }
        try #require(end != nil)
    }

    private static func unpack(_ file: String, to path: String) throws {
        try Data().write(to: URL(filePath: path))
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = ["gzip", "-dc", file]
        process.standardOutput = try FileHandle(forWritingTo: URL(filePath: path))
        try process.run()
        try #require(try process.waitForEnd() == 0)
    }

    /// What was there and is not, or is something else. Members that are new do not count.
    private static func differences(from old: JSON, to new: JSON, at path: String) -> [String] {
        if let members = old.members {
            return members.flatMap { member -> [String] in
                guard let now = new[member.key] else { return ["\(path).\(member.key) is missing"] }
                return differences(from: member.value, to: now, at: "\(path).\(member.key)")
            }
        }
        if let items = old.array, let now = new.array, items.count == now.count {
            return zip(items, now).enumerated().flatMap { number, pair in
                differences(from: pair.0, to: pair.1, at: "\(path)[\(number)]")
            }
        }
        return old == new ? [] : ["\(path) was \(old.text), and is \(new.text)"]
    }
}
