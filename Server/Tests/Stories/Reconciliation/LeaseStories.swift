import AppStoreFormats
import Eventually
import Foundation
import Ledger
import Storage
import Testing

/// Servers share due checks, and are paused or killed while they hold leases.
@Suite(.serialized) struct LeaseStories {
    /// More customers than three servers lease at the same time.
    private static let customers = 160
    private static let leaseSeconds = 30
    /// The number of checks that one server runs at the same time.
    private static let askedAtOnce = 8
    /// How long a story waits before it pauses servers: longer than it takes until each server
    /// holds leases, and shorter than a server waits for the App Store.
    private static let slowAnswerSeconds = 12.0
    private static let quickAnswerSeconds = 0.2

    @Test(.timeLimit(.minutes(15)))
    func `if servers are paused or killed, only the checks that they had leased are repeated`()
        async throws
    {
        try await withShop(on: .sqlite, notifies: false) { shop in
            let folder = try TemporaryFolder()
            defer { folder.remove() }
            try await StoryDatabase.postgres.withAddress { address in
                let program = try await ServerProgram(
                    folder: folder, simulator: shop.simulator, on: .postgres, address,
                    leaseSeconds: Self.leaseSeconds)
                let leases = try Leases(program)
                defer { leases.close() }
                let told = try await Self.subscribers(shop.simulator)
                // All servers start before the first check, because a start may take longer than a
                // lease.
                let servers = try await Self.pausedServers(3, program, leases)
                let (sleeper, victim, survivor) = (servers[0], servers[1], servers[2])
                try await Self.tell(told, to: shop.simulator, address)
                try await Self.answer(after: Self.slowAnswerSeconds, shop.simulator)
                // A server that was paused may have lost answers, so it sends no requests for a
                // while. The server measures this time by the story's clock, which must run.
                try await shop.simulator.post("/_sim/clock", ["rate": 10])

                sleeper.resume()
                let first = try await leases.wait { $0.holders.count == 1 }.holders
                sleeper.pause()
                let slept = try await leases.now().purchases(of: first)
                victim.resume()
                let second = try await leases.wait { $0.holders.count == 2 }.holders
                survivor.resume()
                _ = try await leases.wait { $0.holders.count == 3 }
                victim.kill()
                let lost = try await leases.now().purchases(of: second.subtracting(first))
                #expect(!lost.isEmpty)
                // The paused server has leased many more checks than it can run at the same time.
                #expect(slept.count > 2 * Self.askedAtOnce)
                try await Self.answer(after: Self.quickAnswerSeconds, shop.simulator)

                // Both leases expire, and the remaining server runs the checks of the other two.
                _ = try await leases.wait { $0.neverAsked == 0 && $0.holders.isEmpty }
                survivor.kill()
                sleeper.resume()
                // The server that was paused checks a purchase that only it can check, after its
                // old checks.
                let late = try await Self.subscriber("late", shop.simulator)
                try await Self.tell(sleeper, late)
                _ = try await leases.wait { $0.count > Self.customers && $0.neverAsked == 0 }

                try await Self.expectTruth(of: sleeper, program.key, shop.simulator)
                sleeper.kill()
                let repeated = try await Self.repeatedQuestions(to: shop.simulator)
                #expect(repeated.isSubset(of: slept.union(lost)))
                // The paused server left the checks that it had not begun to the others.
                #expect(repeated.intersection(slept).count <= Self.askedAtOnce)
                try await program.expectClean()
            }
        }
    }

    /// Servers that were started without due checks and are now paused.
    private static func pausedServers(
        _ count: Int, _ program: ServerProgram, _ leases: Leases
    ) async throws -> [ServerProgram.Running] {
        var servers: [ServerProgram.Running] = []
        for _ in 0..<count { servers.append(try await program.start()) }
        _ = try await leases.wait { $0.isBackfilled }
        for server in servers { server.pause() }
        return servers
    }

    /// Posts each purchase to a server that never checks. Only a check can find the renewals.
    private static func tell(
        _ payloads: [String], to simulator: Wire, _ address: String
    ) async throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let program = try await ServerProgram(
            folder: folder, simulator: simulator, on: .postgres, address)
        let server = try await program.start()
        for payload in payloads { try await tell(server, payload) }
        server.kill()
    }

    private static func answer(after seconds: Double, _ simulator: Wire) async throws {
        try await simulator.post(
            "/_sim/faults", ["api": ["slow": 1, "slow_seconds": .decimal("\(seconds)")]])
    }

    /// The notification of each subscriber's purchase. Later renewals are so old that the App
    /// Store's notification history no longer contains them.
    private static func subscribers(_ simulator: Wire) async throws -> [String] {
        var told: [String] = []
        for number in 0..<customers {
            told.append(try await subscriber("\(number)", simulator))
        }
        try await simulator.post("/_sim/clock", ["advance": "P560D"])
        return told
    }

    private static func subscriber(_ name: String, _ simulator: Wire) async throws -> String {
        try await simulator.post("/_sim/devices", ["account": .string(name)])
        try await simulator.post(
            "/_sim/devices/\(name)-1/purchases",
            ["product_id": "pro.yearly", "app_account_token": .string(token(name))])
        let sent = try await simulator.get("/_sim/notifications")
        let last = sent["notifications"]?.array?.last { $0["account"]?.string == name }
        return try #require(last?["signed_payload"]?.string, "no notification about \(name)")
    }

    /// An id that is an account's token, so that the purchase belongs to the customer without a
    /// link.
    private static func token(_ name: String) -> String {
        let digits = name == "late" ? "999" : name
        return "00000000-0000-4000-8000-" + String(repeating: "0", count: 12 - digits.count)
            + digits
    }

    private static func tell(_ server: ServerProgram.Running, _ payload: String) async throws {
        let body: JSON = ["signedPayload": .string(payload)]
        try await server.wire.post("/apple/notifications", body)
    }

    /// Compares the server's answer about each customer with the simulator's books.
    private static func expectTruth(
        of server: ServerProgram.Running, _ key: String, _ simulator: Wire
    ) async throws {
        var wire = server.wire
        wire.bearer = key
        for name in (0..<customers).map(String.init) + ["late"] {
            let answer = try await wire.get("/v1/customers/\(token(name))")
            let truth = try await simulator.get("/_sim/truth/\(name)")
            let own = truth["purchases"]?.array?.first
            #expect(own?["state"]?.string == (name == "late" ? "trial" : "paid"))
            #expect(answer["entitlements"]?["pro"]?["state"] == own?["state"])
            #expect(answer["entitlements"]?["pro"]?["until"] == own?["until"], "\(name)")
        }
    }

    /// The subscriptions that were checked twice, by the simulator's log of requests. Expects that
    /// each was checked, and none three times.
    private static func repeatedQuestions(to simulator: Wire) async throws -> Set<String> {
        var counts: [String: Int] = [:]
        for entry in try await simulator.get("/_sim/log")["entries"]?.array ?? [] {
            guard let path = entry["path"]?.string, path.hasPrefix("/inApps/v1/subscriptions/")
            else { continue }
            counts[path.split(separator: "/").last.map(String.init) ?? "", default: 0] += 1
        }
        #expect(counts.count == customers + 1)
        #expect(counts.values.allSatisfy { $0 <= 2 })
        return Set(counts.filter { $0.value > 1 }.keys)
    }
}

/// The holders of leases, read from the rows.
private struct Leases {
    private static let waitSeconds = 200.0

    private let database: any DatabaseDriver

    init(_ program: ServerProgram) throws {
        database = try program.engine.open(program.database)
    }

    func close() { database.close() }

    struct Seen: Sendable, CustomStringConvertible {
        var count = 0
        var neverAsked = 0
        /// Whether no server requests missed notifications any more, because all were delivered.
        var isBackfilled = false
        /// The purchases that each server has leased, keyed by the name of the server.
        var taken: [String: Set<String>] = [:]

        var holders: Set<String> { Set(taken.keys) }
        var description: String {
            "\(count) purchases, \(neverAsked) never asked about, \(taken.mapValues(\.count))"
        }

        func purchases(of holders: Set<String>) -> Set<String> {
            holders.reduce(into: []) { $0.formUnion(taken[$1] ?? []) }
        }
    }

    func now() async throws -> Seen {
        try await database.read { connection in
            let rows = try connection.rows(
                "SELECT purchase, lease_holder, asked_at_ms FROM purchases", []
            ) { row throws(StorageFailure) in
                (try row.text(), try row.optionalText(), try row.optionalInstant())
            }
            let caughtUp = try connection.rows(
                "SELECT 1 FROM app_stores WHERE caught_up_to_ms IS NOT NULL "
                    + "AND lease_holder IS NULL AND walk_lease_holder IS NULL", [])
            var seen = Seen()
            seen.isBackfilled = caughtUp.count == Environment.allCases.count
            for (purchase, holder, askedAt) in rows {
                seen.count += 1
                if askedAt == nil { seen.neverAsked += 1 }
                guard let holder else { continue }
                seen.taken[holder, default: []].insert(purchase)
            }
            return seen
        }
    }

    /// Reads the leases repeatedly until the condition holds.
    func wait(until isSo: (Seen) -> Bool) async throws -> Seen {
        var seen = Seen()
        guard
            try await isSoon(
                within: Self.waitSeconds,
                {
                    seen = try await now()
                    return isSo(seen)
                })
        else { throw Wire.Unexpected(description: "it never came so: \(seen)") }
        return seen
    }
}
