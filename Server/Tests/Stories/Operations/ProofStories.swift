import AppStoreFormats
import Dice
import Eventually
import Foundation
import Testing

/// The proof with separate processes, HTTP, signatures, a disk, and kills at random moments.
@Suite(.serialized) struct ProofStories {
    private static let customers: Int64 = 12
    private static let seeds: [Int64] = [11, 12]
    private static let kills = 6
    /// Simulated days between two kills.
    private static let days = 6
    /// The maximum number of attempts. Before each attempt, the clock advances by five minutes: the
    /// promised interval.
    private static let looksMax = 26
    /// The pause before each attempt after the first. Once a second the server reads the clock and
    /// does due checks.
    private static let lookSeconds = 1.5

    @Test(.timeLimit(.minutes(10)), arguments: StoryDatabase.allCases)
    func `if a server is killed repeatedly, its answers over HTTP stay correct`(
        engine: StoryDatabase
    ) async throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let store = try await SimulatorProgram.start(in: folder)
        defer { store.kill() }
        var dice = Dice(announcedBy: "ProofStories")
        for seed in Self.seeds {
            try await engine.withAddress { address in
                let program = try await ServerProgram(
                    folder: folder, simulator: store.wire, on: engine, address, leaseSeconds: 5)
                let world = try World(store: store.wire, program: program)
                try await world.begin(seed: seed, customers: Self.customers)
                for _ in 0..<Self.kills {
                    let lifetime = Int.random(in: 50...1500, using: &dice)
                    try await world.live(days: Self.days, killedAfter: lifetime)
                }
                try await world.calm()
                let server = try await program.start(port: world.port)
                defer { server.kill() }
                try await world.post(to: server)
                let wrong = try await world.wrongAnswers(of: server, looks: Self.looksMax)
                #expect(wrong.isEmpty, "seed \(seed): \(wrong)")
            }
        }
    }

    /// A simulator's world, and the server that gets its notifications.
    private struct World {
        let store: Wire
        let program: ServerProgram
        let port: UInt16

        init(store: Wire, program: ServerProgram) throws {
            self.store = store
            self.program = program
            port = try ServerProgram.freePort()
        }

        func begin(seed: Int64, customers: Int64) async throws {
            try await store.post(
                "/_sim/reset",
                [
                    "seed": .integer(seed), "shop": "full",
                    "notification_url": .string("http://127.0.0.1:\(port)/apple/notifications"),
                ])
            try await store.post(
                "/_sim/populations", ["accounts": .integer(customers), "within": "P40D"])
            let odds: JSON = .decimal("0.2")
            try await store.post(
                "/_sim/faults",
                [
                    "notifications": [
                        "drop": odds, "duplicate": odds, "reorder": odds, "forged": odds,
                        "truncate": odds,
                    ],
                    "api": ["not_found": odds, "retryable_error": odds, "unauthorized": odds],
                ])
        }

        /// Runs a server while some days pass, and kills it after some milliseconds. No server runs
        /// during the remaining days.
        func live(days: Int, killedAfter lifetime: Int) async throws {
            let server = try await program.start(port: port)
            async let passed: Void = pass(days: days)
            try await post(to: server)
            try await Task.sleep(for: .milliseconds(lifetime))
            server.kill()
            try await passed
        }

        private func pass(days: Int) async throws {
            for _ in 0..<days { try await store.post("/_sim/clock", ["advance": "P1D"]) }
        }

        func calm() async throws {
            try await store.post("/_sim/faults", ["notifications": [:], "api": [:]])
        }

        /// Each app links the account token to its customer, and then posts all transactions of its
        /// device. Repeats failed requests later.
        func post(to server: ServerProgram.Running) async throws {
            for name in try await names() {
                let device = try await store.get("/_sim/devices/\(name)-1/transactions")
                guard let signed = device["signed_transactions"]?.array, !signed.isEmpty else {
                    continue
                }
                if let token = try signed.compactMap({ try Self.token(in: $0.string ?? "") }).first
                {
                    await send(
                        ["customer_id": .string(token)], to: "/v1/customers/\(name)/aliases", server
                    )
                }
                await send(
                    ["customer_id": .string(name), "signed_transactions": .array(signed)],
                    to: "/v1/purchases", server)
            }
        }

        private static func token(in signed: String) throws -> String? {
            try JSON(parsing: CompactJWS(signed)?.payload ?? [])["appAccountToken"]?.string
        }

        private func send(
            _ body: JSON, to path: String, _ server: ServerProgram.Running
        ) async {
            _ = try? await wire(server).impatient.send(
                "POST", path, body: body.bytes, headers: ["Content-Type": "application/json"])
        }

        /// The accounts that had notifications.
        private func names() async throws -> [String] {
            let sent = try await store.get("/_sim/notifications")["notifications"]?.array ?? []
            return Set(sent.compactMap { $0["account"]?.string }).sorted()
        }

        private func wire(_ server: ServerProgram.Running) -> Wire {
            var wire = server.wire
            wire.bearer = program.key
            return wire
        }

        /// The customers whose answers still differ from the books after this number of attempts,
        /// with both states.
        func wrongAnswers(
            of server: ServerProgram.Running, looks: Int
        ) async throws -> [String] {
            var wrong: [String] = []
            for _ in 0..<looks {
                try await store.post("/_sim/clock", ["advance": "PT5M"])
                let isTrue = try await isSoon(within: ProofStories.lookSeconds) {
                    wrong = try await wrongAnswers(of: wire(server))
                    return wrong.isEmpty
                }
                if isTrue { break }
            }
            server.kill()
            try await program.expectClean()
            return wrong
        }

        private func wrongAnswers(of server: Wire) async throws -> [String] {
            let names = try await names()
            #expect(!names.isEmpty)
            var wrong: [String] = []
            for name in names {
                let books = try await store.get("/_sim/truth/\(name)")["purchases"]?.array ?? []
                let chains = books.filter { $0["renews_to"]?.string != nil }
                let environment = books.first?["environment"]?.string ?? "production"
                let answer = try await server.get(
                    "/v1/customers/\(name)?environment=\(environment)")
                let truth = Set(try chains.map { try Verdict(truth: $0).plain })
                let ours = Set(
                    try (answer["subscriptions"]?.array ?? []).map {
                        try Verdict(subscription: $0).plain
                    })
                if truth != ours { wrong.append("\(name): the books \(truth), we \(ours)") }
            }
            return wrong
        }
    }
}

extension Verdict {
    /// The books call every free period a trial, but the server only an introductory one. A
    /// purchase refunded to a family is refunded in the books and revoked in the server's answer.
    fileprivate var plain: Verdict {
        var plain = self
        if state == "trial" { plain.state = "offer" }
        if state == "revoked" { plain.state = "refunded" }
        return plain
    }
}
