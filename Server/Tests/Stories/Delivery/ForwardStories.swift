import AppStoreFormats
import AppStoreTrust
import Engine
import Eventually
import Ledger
import Logging
import Storage
import StorageSQLite
import Synchronization
import Testing

/// Notifications are forwarded to other backends unchanged.
@Suite(.serialized) struct ForwardStories {
    private static func rules(
        _ receivers: [Receiver], _ policy: ForwardRules.Policy = .own
    ) -> ForwardRules {
        let both: Set<Ledger.Environment> = [.production, .sandbox]
        let targets = receivers.map {
            ForwardTarget(name: $0.url, url: $0.url + "?key=1", environments: both)
        }
        return ForwardRules(targets: targets, policy: policy)
    }

    @Test(arguments: StoryDatabase.allCases)
    func `a notification of either version is forwarded once, byte for byte`(
        database: StoryDatabase
    ) async throws {
        let receiver = try Receiver()
        try await withShop(
            on: database, notifies: false, announcements: .both, forwards: Self.rules([receiver])
        ) { shop in
            try await shop.buy()
            let signed = try #require(try await shop.notifications().first)
            let text = String(decoding: signed, as: UTF8.self)
            let spaced = Array(" { \"odd\" : [1.50] ,\r\n\(text.dropFirst())".utf8)
            let old = try #require(try await shop.v1Notifications().first)
            #expect(String(decoding: old, as: UTF8.self).contains("\"password\":\"c0ffee"))
            for _ in 1...2 {
                #expect(try await shop.tell(spaced, "application/json; x=\"1, 2\"") == 200)
                #expect(try await shop.tell(old) == 200)
            }
            try await shop.settle()
            #expect(
                Set(receiver.arrivals) == [
                    .init(
                        path: "/apple?key=1", contentType: "application/json; x=\"1, 2\"",
                        body: spaced),
                    .init(
                        path: "/apple?key=1", contentType: "application/json", body: old),
                ])
            #expect(receiver.arrivals.count == 2)
        }
    }

    @Test(arguments: StoryDatabase.allCases)
    func `a failing forward is repeated until the address accepts, and Apple gets 200 at once`(
        database: StoryDatabase
    ) async throws {
        let receiver = try Receiver(.status(500), .status(404), .status(201))
        try await withShop(
            on: database, notifies: false, forwards: Self.rules([receiver])
        ) { shop in
            try await shop.buy()
            receiver.stop()
            #expect(try await shop.tellAll() == [200])
            try await shop.settle()
            let first = try #require(try await shop.forwards().first)
            #expect(first["state"] == "waiting" && first["attempts"] == 1)
            #expect(first["last_status"] == .null && first["last_trouble"]?.string != nil)
            #expect(first["url"]?.string == receiver.origin)
            try receiver.listen()
            // Nothing is due yet.
            try await shop.settle()
            #expect(receiver.arrivals.isEmpty)
            for status: JSON in [500, 404, 201] {
                try await shop.simulator.post("/_sim/clock", ["advance": "PT2M"])
                #expect(try await shop.forwards().first?["last_status"] == status)
            }
            let last = try #require(try await shop.forwards("?state=accepted").first)
            #expect(last["attempts"] == 4 && last["next_attempt_at"] == .null)
            try await shop.simulator.post("/_sim/clock", ["advance": "P1D"])
            #expect(receiver.arrivals.count == 3)
        }
    }

    @Test func `a forward is given up after 36 failed attempts`() async throws {
        let receiver = try Receiver(.status(500))
        try await withShop(
            on: .sqlite, notifies: false, forwards: Self.rules([receiver])
        ) { shop in
            try await shop.buy()
            #expect(try await shop.tellAll() == [200])
            try await shop.settle()
            #expect(try await shop.forwards().first?["attempts"] == 1)
            for _ in 1..<ForwardingSettings.attemptsMax {
                #expect(try await shop.forwards("?state=given_up").isEmpty)
                try await shop.simulator.post("/_sim/clock", ["advance": "PT6H"])
            }
            let lost = try #require(try await shop.forwards("?state=given_up").first)
            #expect(lost["attempts"]?.integer == Int64(ForwardingSettings.attemptsMax))
            try await shop.simulator.post("/_sim/clock", ["advance": "PT12H"])
            #expect(receiver.arrivals.count == ForwardingSettings.attemptsMax)
        }
    }

    @Test
    func `a forward whose stored body was deleted is given up at the next attempt`() async throws {
        let receiver = try Receiver(.status(500))
        try await withShop(
            on: .sqlite, notifies: false, forwards: Self.rules([receiver])
        ) { shop in
            try await shop.buy()
            #expect(try await shop.tellAll() == [200])
            try await shop.settle()
            _ = try await shop.database.write { try $0.run("DELETE FROM forward_bodies", []) }
            try await shop.simulator.post("/_sim/clock", ["advance": "PT1H"])
            let lost = try #require(try await shop.forwards("?state=given_up").first)
            #expect(lost["attempts"] == 2 && receiver.arrivals.count == 1)
        }
    }

    @Test(arguments: StoryDatabase.allCases)
    func `a forward that was given up is sent again on request, unchanged and once`(
        database: StoryDatabase
    ) async throws {
        let receiver = try Receiver(.status(500))
        try await withShop(
            on: database, notifies: false, announcements: .v1, forwards: Self.rules([receiver])
        ) { shop in
            try await shop.buy()
            let body = try #require(try await shop.v1Notifications().first)
            #expect(try await shop.tell(body) == 200)
            for _ in 0..<ForwardingSettings.attemptsMax {
                try await shop.simulator.post("/_sim/clock", ["advance": "PT6H"])
            }
            // More than a week has passed since the notification arrived.
            try await shop.simulator.post("/_sim/clock", ["advance": "P5D"])
            let lost = try #require(try await shop.forwards("?state=given_up").first)
            let path = "/v1/forwards/\(try lost.text("document_id"))/retry"
            receiver.reply(.status(200))
            let again = try await shop.secretServer.post(path)["items"]?.array ?? []
            #expect(again.map { $0["state"] } == ["waiting"])
            #expect(again.map { $0["attempts"] } == [0])
            try await eventually("it is accepted") {
                try await shop.forwards("?state=accepted").count == 1
            }
            let after = try await shop.secretServer.post(path)["items"]?.array ?? []
            #expect(after.map { $0["state"] } == ["accepted"])
            try await shop.settle()
            #expect(receiver.arrivals.count == ForwardingSettings.attemptsMax + 1)
            #expect(Set(receiver.arrivals.map(\.body)) == [body])
        }
    }

    @Test
    func `a retry gets 404 if the forward is unknown, and 403 with an app key`() async throws {
        try await withShop(on: .sqlite, notifies: false) { shop in
            let unknown = String(repeating: "0f", count: 32)
            for name in [unknown, "0f", "\(unknown)0f", "x"] {
                let answer = try await shop.secretServer.send(
                    "POST", "/v1/forwards/\(name)/retry", body: [])
                #expect(answer.status == 404)
                #expect(try answer.json["code"] == "forward_unknown")
            }
            let refused = try await shop.server.send(
                "POST", "/v1/forwards/\(unknown)/retry", body: [])
            #expect(refused.status == 403)
        }
    }

    @Test func `a forward follows no redirect: its body may contain a secret`() async throws {
        let other = try Receiver()
        let receiver = try Receiver(.redirect(to: other.url))
        try await withShop(
            on: .sqlite, notifies: false, forwards: Self.rules([receiver])
        ) { shop in
            try await shop.buy()
            #expect(try await shop.tellAll() == [200])
            try await shop.settle()
            #expect(try await shop.forwards().first?["last_status"] == 302)
            #expect(receiver.arrivals.count == 1 && other.arrivals.isEmpty)
        }
    }

    @Test func `an address that does not respond does not delay other addresses`() async throws {
        let (silent, receiver) = (try Receiver(.nothing), try Receiver())
        try await withShop(
            on: .sqlite, notifies: false, forwards: Self.rules([silent, receiver])
        ) { shop in
            for _ in 1...20 { try await shop.buy() }
            let statuses = try await shop.tellAll()
            #expect(Set(statuses) == [200])
            try await eventually("what was sent to the silent address waits") {
                let waiting = try await shop.forwards("?state=waiting&limit=500")
                return waiting.count == statuses.count
                    && waiting.allSatisfy { $0["url"]?.string == silent.origin }
            }
            #expect(receiver.arrivals.count == statuses.count)
        }
    }

    @Test func `sandbox notifications go only to the addresses for the sandbox`() async throws {
        let (receiver, staging) = (try Receiver(), try Receiver())
        var rules = Self.rules([receiver, staging])
        rules.targets[0].environments = [.production]
        rules.targets[1].environments = [.sandbox]
        try await withShop(on: .sqlite, notifies: false, forwards: rules) { shop in
            try await shop.buy("anna")
            try await shop.buy("ben", ["environment": "sandbox"])
            #expect(try await shop.tellAll() == [200, 200])
            try await shop.settle()
            #expect(receiver.arrivals.count == 1 && staging.arrivals.count == 1)
            let environments = try await shop.forwards().map { $0["environment"]?.string }
            #expect(Set(environments) == ["production", "sandbox"])
        }
    }

    @Test(arguments: StoryDatabase.allCases)
    func `under the forward policy all, Apple gets 200 only after every address has accepted`(
        database: StoryDatabase
    ) async throws {
        let (quick, slow) = (try Receiver(), try Receiver(.status(503), .status(200)))
        try await withShop(
            on: database, notifies: false, forwards: Self.rules([quick, slow], .all)
        ) { shop in
            try await shop.buy()
            let body = try #require(try await shop.notifications().first)
            let first = try await shop.server.send("POST", "/apple/notifications", body: body)
            #expect(first.status == 503)
            #expect(try first.json["code"] == "forward_not_accepted")
            #expect(shop.engine.counts.notificationsRecorded == 1)
            // The notification arrives again, as the App Store repeats it. An address that has
            // accepted it does not get it again.
            #expect(try await shop.tell(body) == 200)
            #expect(try await shop.tell(body) == 200)
            #expect(quick.arrivals.count == 1 && slow.arrivals.count == 2)
            #expect(try await shop.forwards("?state=accepted").count == 2)
        }
    }

    @Test func `the list of forwards needs a secret key, and has pages`() async throws {
        let receiver = try Receiver()
        try await withShop(
            on: .sqlite, notifies: false, forwards: Self.rules([receiver])
        ) { shop in
            for _ in 1...5 { try await shop.buy() }
            let count = try await shop.tellAll().count
            let refused = try await shop.server.send("GET", "/v1/forwards")
            #expect(refused.status == 403)
            var found: [JSON] = []
            var cursor = ""
            repeat {
                let page = try await shop.secretServer.get("/v1/forwards?limit=2&after=\(cursor)")
                found += page["items"]?.array ?? []
                cursor = page["next_cursor"]?.string ?? ""
            } while !cursor.isEmpty
            #expect(found.count == count && Set(found).count == count)
            for query in ["?after=x", "?after=1-2", "?state=lost", "?limit=0"] {
                let answer = try await shop.secretServer.send("GET", "/v1/forwards\(query)")
                #expect(answer.status == 400, "\(query)")
            }
        }
    }

    // MARK: - Without storage

    @Test(arguments: ForwardRules.Policy.allCases, [true, false])
    func `if the database is down, Apple gets 200 only under the policy any, if an address accepts`(
        policy: ForwardRules.Policy, accepts: Bool
    ) async throws {
        try await withShop(on: .sqlite, notifies: false) { shop in
            try await shop.buy()
            let body = try #require(try await shop.notifications().first)
            let posts = Tally()
            var app = birds.settings
            app.forwards = ForwardRules(
                targets: [
                    ForwardTarget(name: "n", url: "u", environments: [.production, .sandbox])
                ], policy: policy)
            let engine = Engine(
                database: RefusingDatabase(), apps: [app],
                verifiers: [
                    app.id: Verifier(roots: try TrustRoots(der: [shop.authority.rootDER]))
                ], now: { .machine },
                forwarding: ForwardingSettings(holder: "a") { _, arrived in
                    posts.add(arrived.body == body)
                    return .status(accepts ? 200 : 500)
                }, logger: Logger(label: "story") { _ in SwiftLogNoOpLogHandler() })
            let isAcknowledged: Bool
            do {
                _ = try await engine.recording.record(notification: body)
                isAcknowledged = true
            } catch { isAcknowledged = false }
            #expect(isAcknowledged == (policy == .any && accepts))
            #expect(posts.all == (policy == .any ? [true] : []))
            #expect(engine.counts.notificationsAcceptedElsewhere == (isAcknowledged ? 1 : 0))
        }
    }

    @Test(.timeLimit(.minutes(10)), arguments: StoryDatabase.allCases)
    func `a notification that was stored before a kill is forwarded after the server's restart`(
        database: StoryDatabase
    ) async throws {
        let receiver = try Receiver()
        receiver.stop()
        try await withShop(on: .sqlite, notifies: false) { shop in
            let folder = try TemporaryFolder()
            defer { folder.remove() }
            try await database.withAddress { address in
                let program = try await ServerProgram(
                    folder: folder, simulator: shop.simulator, on: database, address,
                    more: "    forward:\n      - \(receiver.url)")
                for _ in 1...30 { try await shop.buy() }
                let payloads = try await shop.notifications().map(Self.payload)
                let first = try await program.start()
                let acknowledged = Acknowledged()
                await Stream.sendOnce(payloads, to: first.wire, acknowledged)
                first.kill()
                #expect(acknowledged.all == Set(payloads))
                #expect(receiver.arrivals.isEmpty)
                try receiver.listen()
                let second = try await program.start()
                try await shop.simulator.post("/_sim/clock", ["advance": "PT1H"])
                try await eventually("each notification arrived") {
                    Set(receiver.arrivals.map(\.body)).count == payloads.count
                }
                second.kill()
                #expect(Set(receiver.arrivals.map { Self.payload($0.body) }) == Set(payloads))
            }
        }
    }

    private static func payload(_ body: [UInt8]) -> String {
        (try? JSON(parsing: body))?["signedPayload"]?.string ?? ""
    }
}

/// Counts the bodies that were posted.
private final class Tally: Sendable {
    private let found = Mutex<[Bool]>([])
    var all: [Bool] { found.withLock { $0 } }
    func add(_ isBody: Bool) { found.withLock { $0.append(isBody) } }
}

/// A database that refuses every write, as a full disk does.
private struct RefusingDatabase: DatabaseDriver {
    let dialect = Dialect.sqlite

    func write<Value: Sendable>(
        _ mode: WriteMode, _ body: @escaping @Sendable (any Connection) throws -> Value
    ) async throws -> Value {
        throw StorageFailure("the disk is full")
    }

    func read<Value: Sendable>(
        _ body: @escaping @Sendable (any Connection) throws -> Value
    ) async throws -> Value {
        throw StorageFailure("the disk is full")
    }

    func close() {}
}

/// Makes a new name for each buyer who has none.
private let buyers = Atomic(0)

extension Shop {
    fileprivate func buy(_ account: String? = nil, _ more: [String: JSON] = [:]) async throws {
        let name = account ?? "c\(buyers.add(1, ordering: .relaxed).newValue)"
        try await addDevice(name, more)
        try await simulator.post(
            "/_sim/devices/\(name)-1/purchases", ["product_id": "pro.monthly"])
    }

    fileprivate func tell(
        _ body: [UInt8], _ contentType: String = "application/json"
    ) async throws -> Int {
        try await server.send(
            "POST", "/apple/notifications", body: body, headers: ["Content-Type": contentType]
        ).status
    }

    fileprivate func tellAll() async throws -> [Int] {
        var statuses: [Int] = []
        for body in try await notifications() { statuses.append(try await tell(body)) }
        return statuses
    }

    /// Does all work that is due.
    fileprivate func settle() async throws {
        try await simulator.post("/_sim/clock", ["advance": "PT1S"])
    }

    fileprivate var secretServer: Wire { Wire(base: server.base, bearer: Self.secretKey) }

    fileprivate func forwards(_ query: String = "") async throws -> [JSON] {
        try await secretServer.get("/v1/forwards\(query)")["items"]?.array ?? []
    }
}
