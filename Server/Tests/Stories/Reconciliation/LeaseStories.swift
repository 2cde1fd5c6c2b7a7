import AppStoreFormats
import Eventually
import Foundation
import Ledger
import Storage
import Testing

/// Servers that share what is due, and drop out while they have taken some of it.
@Suite(.serialized) struct LeaseStories {
    private static let customers = 100
    private static let leaseSeconds = 30
    /// Questions that one server has under way.
    private static let askedAtOnce = 8

    @Test(.timeLimit(.minutes(10)))
    func `sleeping past a lease, or a kill, repeats no question but those it had taken`()
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
                // Of each only the purchase was told. That it was renewed must be asked.
                let told = try await Self.subscribers(shop.simulator)
                try await shop.simulator.post(
                    "/_sim/faults", ["api": ["slow": 1, "slow_seconds": 1]])

                let sleeper = try await program.start()
                // All at once: on a slow machine it would else ask as fast as it is told.
                try await withThrowingTaskGroup(of: Void.self) { tasks in
                    for payload in told {
                        tasks.addTask { try await Self.tell(sleeper, payload) }
                    }
                    try await tasks.waitForAll()
                }
                // It has taken many more than it can ask about at once.
                let first = try await leases.wait { $0.taken.values.contains { $0.count >= 20 } }
                sleeper.pause()
                let slept = try await leases.now().purchases(of: first.holders)

                let victim = try await program.start()
                let second = try await leases.wait { $0.holders.count == 2 }
                let survivor = try await program.start()
                _ = try await leases.wait { $0.holders.count == 3 }
                victim.kill()
                let lost = try await leases.now()
                    .purchases(of: second.holders.subtracting(first.holders))
                #expect(!slept.isEmpty && !lost.isEmpty)

                // Both leases run out, and the one that is left asks what the others had taken.
                _ = try await leases.wait { $0.neverAsked == 0 && $0.holders.isEmpty }
                survivor.kill()
                // Answers that it had waited for may be lost by now. Then it lets the store alone
                // for a while of the story's time, which must go on for that.
                try await shop.simulator.post("/_sim/clock", ["rate": 10])
                sleeper.resume()
                // What only the sleeper can ask about, it asks when it has done with the past.
                let late = try await Self.subscriber("late", shop.simulator)
                try await Self.tell(sleeper, late)
                _ = try await leases.wait { $0.count > Self.customers && $0.neverAsked == 0 }

                var asked = sleeper.wire
                asked.bearer = program.key
                try await Self.expectTruth(of: asked, shop.simulator)
                sleeper.kill()
                let repeated = try await Self.repeatedQuestions(to: shop.simulator)
                #expect(repeated.isSubset(of: slept.union(lost)))
                // What it had not begun to ask it left to the others.
                #expect(repeated.intersection(slept).count <= Self.askedAtOnce)
                try await program.expectClean()
            }
        }
    }

    /// Subscribers a month and a day later: the notification of each one's purchase.
    private static func subscribers(_ simulator: Wire) async throws -> [String] {
        var told: [String] = []
        for number in 0..<customers {
            told.append(try await subscriber("\(number)", simulator))
        }
        try await simulator.post("/_sim/clock", ["advance": "P32D"])
        return told
    }

    private static func subscriber(_ name: String, _ simulator: Wire) async throws -> String {
        try await simulator.post("/_sim/devices", ["account": .string(name)])
        try await simulator.post(
            "/_sim/devices/\(name)-1/purchases",
            ["product_id": "pro.monthly", "app_account_token": .string(token(name))])
        let sent = try await simulator.get("/_sim/notifications")
        let last = sent["notifications"]?.array?.last { $0["account"]?.string == name }
        return try #require(last?["signed_payload"]?.string, "no notification about \(name)")
    }

    /// An id that is an account's token, so that its purchase is the customer's without a link.
    private static func token(_ name: String) -> String {
        let digits = name == "late" ? "999" : name
        return "00000000-0000-4000-8000-" + String(repeating: "0", count: 12 - digits.count)
            + digits
    }

    private static func tell(_ server: ServerProgram.Running, _ payload: String) async throws {
        let body: JSON = ["signedPayload": .string(payload)]
        try await server.wire.post("/apple/notifications", body)
    }

    /// The server's answer about each customer is the simulator's own.
    private static func expectTruth(of server: Wire, _ simulator: Wire) async throws {
        for name in (0..<customers).map(String.init) + ["late"] {
            let answer = try await server.get("/v1/customers/\(token(name))")
            let truth = try await simulator.get("/_sim/truth/\(name)")
            let own = truth["purchases"]?.array?.first
            #expect(answer["entitlements"]?["pro"]?["state"]?.string == "paid")
            #expect(own?["state"]?.string == "paid")
            #expect(answer["entitlements"]?["pro"]?["until"] == own?["until"], "\(name)")
        }
    }

    /// By the simulator's log of requests: the subscriptions that were asked about twice. None was
    /// left out, and none asked about thrice.
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

/// Who has taken what, read from the rows.
private struct Leases {
    private static let waitSeconds = 600.0

    private let database: any DatabaseDriver

    init(_ program: ServerProgram) throws {
        database = try program.engine.open(program.database)
    }

    func close() { database.close() }

    struct Seen: Sendable {
        var count = 0
        var neverAsked = 0
        /// By the server that has them.
        var taken: [String: Set<String>] = [:]

        var holders: Set<String> { Set(taken.keys) }

        func purchases(of holders: Set<String>) -> Set<String> {
            holders.reduce(into: []) { $0.formUnion(taken[$1] ?? []) }
        }
    }

    func now() async throws -> Seen {
        try await database.read { connection in
            let rows = try connection.rows(
                "SELECT purchase, lease_holder, asked_at_ms FROM purchases", [])
            return try rows.reduce(into: Seen()) { seen, row in
                seen.count += 1
                if try row.optionalInteger(2) == nil { seen.neverAsked += 1 }
                guard let holder = try row.optionalText(1) else { return }
                seen.taken[holder, default: []].insert(try row.text(0))
            }
        }
    }

    /// Looks until it is so.
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
