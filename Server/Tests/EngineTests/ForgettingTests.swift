import Ledger
import Storage
import Testing

@testable import Engine

private let present = Instant(milliseconds: 1_767_268_800_000)
private let address = "https://old.example.com/apple"

/// An engine with one app, whose notifications are forwarded to one address.
private func engine(_ retention: RetentionSettings = .init()) async throws -> Engine {
    let target = ForwardTarget(
        name: address, url: address, environments: Set(Ledger.Environment.allCases))
    var app = AppSettings(
        id: "birds", bundleID: "com.example.birds", entitlements: [:],
        forwards: ForwardRules(targets: [target]))
    app.retention = retention
    return try await .empty(app, at: present)
}

extension Engine {
    /// Inserts forwards that arrived, and were finished, some days ago.
    fileprivate func add(
        _ state: StoredForward.State, daysAgo days: Int, count: Int = 1
    ) async throws {
        let came = Value.integer((present - .days(days)).milliseconds)
        try await context.db.driver.write { connection in
            for number in 0..<count {
                let name = "\(number) \(days) \(state.rawValue)"
                let document = Array((Array(name.utf8) + Array(repeating: 0, count: 32)).prefix(32))
                _ = try connection.run(
                    "INSERT INTO forwards (app, document, target, environment, created_at_ms, "
                        + "due_at_ms, attempts, accepted_at_ms, lease_until_ms) "
                        + "VALUES ('birds', $1, $2, 'production', $3, $4, $5, $6, 0)",
                    [
                        .bytes(document), .text(address), came, state == .waiting ? came : .null,
                        .integer(state == .leftOut ? 0 : 3), state == .accepted ? came : .null,
                    ])
            }
        }
    }

    /// The ages in days of the stored forwards in a state, youngest first.
    fileprivate func daysAgo(_ state: StoredForward.State) async throws -> [Int] {
        try await forwarding.all(of: "birds", in: state, after: nil, limit: 500).map { forward in
            Int((present - forward.createdAt) / Duration.days(1))
        }
    }
}

@Suite struct ForgettingTests {
    @Test func `finished forwards are kept for as long as the app's settings say`() async throws {
        var retention = RetentionSettings()
        retention.forwarded = .days(20)
        let engine = try await engine(retention)
        for days in [9, 19, 21] { try await engine.add(.accepted, daysAgo: days) }
        try await engine.forwarding.refreshStates()
        #expect(try await engine.daysAgo(.accepted) == [9, 19])
    }

    @Test
    func `finished forwards are deleted after eight days, and other forwards after thirty days`()
        async throws
    {
        let engine = try await engine()
        for state in StoredForward.State.allCases {
            for days in [7, 9, 29, 31] { try await engine.add(state, daysAgo: days) }
        }
        try await engine.forwarding.refreshStates()
        #expect(try await engine.daysAgo(.accepted) == [7])
        #expect(try await engine.daysAgo(.leftOut) == [7])
        #expect(try await engine.daysAgo(.givenUp) == [7, 9, 29])
        #expect(try await engine.daysAgo(.waiting) == [7, 9, 29])
        let seen = ForwardingState(
            app: "birds", target: address, label: "https://old.example.com", waiting: 4,
            oldestAge: .days(31))
        #expect(engine.forwarding.states == [seen])
        try await engine.forwarding.refreshStates()
        #expect(engine.forwarding.states.map(\.waiting) == [3])
    }

    @Test func `one run deletes all old forwards, even beyond the limit of one transaction`()
        async throws
    {
        let engine = try await engine()
        try await engine.add(.accepted, daysAgo: 9, count: 1200)
        try await engine.add(.accepted, daysAgo: 1, count: 3)
        try await engine.forwarding.refreshStates()
        #expect(try await engine.daysAgo(.accepted) == [1, 1, 1])
    }
}
