import Foundation
import Testing

@testable import Perennial
@testable import PerennialContract

/// Attributes that an app sets: what is saved, when it is sent, and for whom.
@Suite struct AttributeTests {
    private let clock = VirtualClock()
    private let server: LateServer
    private let store = ListedStore()

    init() {
        server = LateServer(
            .init(gives: AnswerRow.shop), after: 0, by: clock, signer: TestSigner("one"))
    }

    private func launch(
        in folder: TemporaryFolder? = nil,
        _ change: (inout Perennial.Configuration) -> Void = { _ in }
    ) async throws -> AnsweredApp {
        let app = try AnsweredApp(store, server, in: folder, change)
        try await app.engine.open()
        return app
    }

    private func present(_ app: AnsweredApp) -> String { app.perennial.snapshot.customer.id }

    /// Waits until nothing waits for the server. Moves the clock to the next attempt.
    private func untilSent(_ app: AnsweredApp) async throws {
        let sender = try app.engine.attributes
        try await eventually("all attributes were sent") {
            if sender.pending.changes.isEmpty { return true }
            if let wake = clock.nextWake, wake < 3_700_000 {
                clock.advance(milliseconds: max(1, wake))
            }
            return false
        }
    }

    private var attempts: Int { server.requests.count { $0.hasPrefix("PATCH") } }

    // MARK: - Saved, and sent later

    @Test func `attributes that were set offline are sent by the next launch`() async throws {
        server.isDown(true)
        let app = try await launch { $0.customer = "ann" }
        try app.perennial.setAttributes([.email: "anna@example.com", "team": "red"])
        try app.perennial.setAttributes(["team": "blue"])
        try await app.stop()
        server.isDown(false)
        let next = try await launch(in: app.folder) { $0.customer = "ann" }
        try await untilSent(next)
        #expect(
            server.attributes.present(of: "ann") == ["$email": "anna@example.com", "team": "blue"])
        try await next.stop()
    }

    @Test func `setting an attribute to nil or to an empty text deletes the attribute`()
        async throws
    {
        let app = try await launch { $0.customer = "ann" }
        try app.perennial.setAttributes(["a": "1", "b": "2", "c": "3"])
        try await untilSent(app)
        try app.perennial.setAttributes(["a": nil, "b": ""])
        try await untilSent(app)
        #expect(server.attributes.present(of: "ann") == ["c": "3"])
        #expect(server.attributes.values["ann"]?.keys.sorted() == ["a", "b", "c"])
        try await app.stop()
    }

    @Test func `in the observer role, an app can also set attributes`() async throws {
        let app = try await launch {
            $0.customer = "ann"
            $0.role = .observer
        }
        try app.perennial.setAttributes(["team": "red"])
        try await untilSent(app)
        #expect(server.attributes.present(of: "ann") == ["team": "red"])
        try await app.stop()
    }

    @Test func `attributes that are set before the SDK has read its files are sent, too`()
        async throws
    {
        let app = try AnsweredApp(store, server)
        try app.perennial.setAttributes(["team": "red"])
        let engine = try app.engine
        await engine.open()
        try await untilSent(app)
        #expect(server.attributes.values.keys.map(\.self) == [present(app)])
        try await app.stop()
    }

    @Test func `the server gets the time of the change, even if the device's clock was wrong`()
        async throws
    {
        // Without keys, each answer of the server sets the clock.
        let server = LateServer(.init(), after: 0, by: clock, signer: nil)
        server.isDown(true)
        let app = try AnsweredApp(store, server) { $0.customer = "ann" }
        let engine = try app.engine
        await engine.open()
        try app.perennial.setAttributes(["team": "red"])
        clock.advance(milliseconds: 600_000)
        let hour: Int64 = 3_600_000
        let right = Timestamp(milliseconds: clock.now().milliseconds + hour)
        await engine.recordTime(right)
        let sent = try #require(engine.attributes.pending.changes.first)
        let now = PendingAttribute.Moment(await engine.now, by: clock)
        #expect(sent.time(asOf: now).milliseconds == right.milliseconds - 600_000)
        try await app.stop()
    }

    /// Launches an app without keys, whose clock each answer of the server sets.
    private func launchUnsigned() async throws -> (AnsweredApp, LateServer) {
        let server = LateServer(.init(), after: 0, by: clock, signer: nil)
        let app = try AnsweredApp(store, server) { $0.customer = "ann" }
        try await app.engine.open()
        return (app, server)
    }

    @Test(arguments: [0, 1, 5_000] as [Int64])
    func `a deletion replaces a value that was just sent, even if the clock went back since`(
        error: Int64
    ) async throws {
        let (app, server) = try await launchUnsigned()
        try app.perennial.setAttributes(["team": "red"])
        try await untilSent(app)
        #expect(server.attributes.present(of: "ann") == ["team": "red"])
        let late = Timestamp(milliseconds: clock.now().milliseconds - error)
        try await app.engine.recordTime(late)
        try app.perennial.setAttributes(["team": nil])
        try await untilSent(app)
        #expect(server.attributes.present(of: "ann") == [:])
        try await app.stop()
    }

    @Test func `the time of a change is on the disk before the server gets the change`()
        async throws
    {
        let (app, server) = try await launchUnsigned()
        server.answersAfter(1_000)
        try app.perennial.setAttributes(["team": "red"])
        let sender = try app.engine.attributes
        try await eventually("the time is on the disk") {
            if sender.pending.sentUntil != nil { return true }
            if let wake = clock.nextWake, wake < 3_700_000 {
                clock.advance(milliseconds: max(1, wake))
            }
            return false
        }
        // The answer needs a second of this clock, which stands still now.
        #expect(sender.pending.changes.count == 1)
        try await untilSent(app)
        #expect(server.attributes.present(of: "ann") == ["team": "red"])
        try await app.stop()
    }

    // MARK: - Two people

    @Test func `waiting attributes go to the customer for whom they were set`() async throws {
        server.isDown(true)
        let app = try await launch { $0.customer = "ann" }
        try app.perennial.setAttributes(["team": "red", "bird": "owl"])
        await app.perennial.signOut()
        let anonymous = present(app)
        try app.perennial.setAttributes(["team": "green"])
        await app.perennial.signOut()
        _ = try await app.perennial.identify("ben")
        try app.perennial.setAttributes(["team": "blue"])
        server.isDown(false)
        try await untilSent(app)
        #expect(server.attributes.present(of: "ann") == ["team": "red", "bird": "owl"])
        #expect(server.attributes.present(of: anonymous) == ["team": "green"])
        #expect(server.attributes.present(of: "ben") == ["team": "blue"])
        try await app.stop()
    }

    @Test(arguments: [false, true])
    func `attributes of an anonymous customer belong to the person after the log-in`(
        isOffline: Bool
    ) async throws {
        let app = try await launch()
        server.isDown(isOffline)
        try app.perennial.setAttributes(["team": "red"])
        if !isOffline { try await untilSent(app) }
        _ = try await app.perennial.identify("ann")
        server.isDown(false)
        try await untilSent(app)
        try await eventually("the two are one") {
            if let wake = clock.nextWake { clock.advance(milliseconds: max(1, wake)) }
            return server.attributes.present(of: "ann") == ["team": "red"]
        }
        try await app.stop()
    }

    @Test func `the attributes of a person without a proof delay no other person`() async throws {
        let proven = Locked("")
        server.isDown(true)
        let app = try await launch {
            $0.customer = "ann"
            $0.proof = { customer in
                guard proven.withLock({ $0 }) == customer else { throw CancellationError() }
                return "proof of \(customer)"
            }
        }
        try app.perennial.setAttributes(["team": "red"])
        await app.perennial.signOut()
        proven.withLock { $0 = "ben" }
        server.isDown(false)
        _ = try await app.perennial.identify("ben")
        try app.perennial.setAttributes(["team": "blue"])
        try await eventually("the present person's attributes were sent") {
            if let wake = clock.nextWake { clock.advance(milliseconds: max(1, wake)) }
            return server.attributes.present(of: "ben") == ["team": "blue"]
        }
        #expect(server.attributes.present(of: "ann") == [:])
        proven.withLock { $0 = "ann" }
        _ = try await app.perennial.identify("ann")
        try await untilSent(app)
        #expect(server.attributes.present(of: "ann") == ["team": "red"])
        try await app.stop()
    }

    @Test
    func `if the anonymous customer has no attributes and no purchases, a log-in merges nothing`()
        async throws
    {
        let app = try await launch()
        _ = try await app.perennial.identify("ann")
        #expect(!server.requests.contains { $0.hasSuffix("/aliases") })
        try await app.stop()
    }

    @Test func `nothing is sent for an erased customer`() async throws {
        let app = try await launch { $0.customer = "ann" }
        try app.perennial.setAttributes(["team": "red"])
        try await untilSent(app)
        server.change { $0.attributes.failure = .init(status: 503) }
        try app.perennial.setAttributes(["team": "blue"])
        try await app.perennial.eraseCustomer()
        #expect(try app.engine.attributes.pending.changes.isEmpty)
        server.change { $0.attributes.failure = nil }
        try app.perennial.setAttributes(["team": "green"])
        try await untilSent(app)
        #expect(server.attributes.values["ann"] == nil)
        #expect(server.attributes.present(of: present(app)) == ["team": "green"])
        try await app.stop()
    }

    // MARK: - Refusals

    @Test func `a refused attribute is dropped and reported, and the others are stored`()
        async throws
    {
        server.change { $0.attributes.refusedName = "bird" }
        let app = try await launch { $0.customer = "ann" }
        try app.perennial.setAttributes(["bird": "owl", "team": "red", "plan": "pro"])
        try await untilSent(app)
        #expect(server.attributes.present(of: "ann") == ["team": "red", "plan": "pro"])
        let findings = try await app.engine.attributes.findings
        #expect(findings.map(\.isProblem) == [true])
        #expect(findings.first?.text.contains("bird (attribute_not_valid)") == true)
        try await app.stop()
    }

    @Test
    func `if a server is too old for attributes, this is reported once and no attribute waits`()
        async throws
    {
        server.change { $0.attributes.failure = .init(status: 404, code: "route_unknown") }
        let lines = Locked<[String]>([])
        let app = try await launch {
            $0.customer = "ann"
            $0.log = Perennial.LogHandler(level: .error) { _, _, line in
                lines.withLock { $0.append(line) }
            }
        }
        for team in ["red", "blue"] {
            try app.perennial.setAttributes(["team": team])
            try await untilSent(app)
        }
        #expect(lines.withLock { $0.count { $0.contains("too old") } } == 1)
        #expect(try await app.engine.attributes.findings.map(\.isProblem) == [true])
        try await app.stop()
    }

    @Test func `after a busy response, attributes are not sent before the time that it names`()
        async throws
    {
        server.change {
            $0.attributes.failure = .init(status: 429, code: "busy", retryAfter: 600)
        }
        let app = try await launch { $0.customer = "ann" }
        try app.perennial.setAttributes(["team": "red"])
        try await eventually("the first attempt has failed") {
            try await app.engine.attributes.posting.failuresInARow == 1
        }
        server.change { $0.attributes.failure = nil }
        let start = clock.elapsed
        try app.perennial.setAttributes(["bird": "owl"])
        await app.perennial.enterForeground()
        try await app.perennial.refresh()
        #expect(attempts == 1, "The other requests are not delayed.")
        try await untilSent(app)
        #expect(clock.elapsed - start >= 600_000)
        #expect(server.attributes.present(of: "ann") == ["team": "red", "bird": "owl"])
        try await app.stop()
    }

    // MARK: - Limits

    @Test func `an attribute over a limit is refused with a remedy, and nothing is saved`()
        async throws
    {
        server.isDown(true)
        let app = try await launch { $0.customer = "ann" }
        let rows: [[Perennial.AttributeName: String?]] = [
            ["9lives": "x"], ["": nil], ["team": String(repeating: "x", count: 501)],
            [.email: "anna"],
        ]
        for row in rows {
            let failure = #expect(throws: Perennial.Failure.self) {
                try app.perennial.setAttributes(row.merging(["good": "x"]) { $1 })
            }
            #expect(failure?.code == .attributeNotValid && failure?.remedy.isEmpty == false)
        }
        #expect(try app.engine.attributes.pending.isEmpty)
        let many = (0...AttributeFile.waitingMax).map {
            (Perennial.AttributeName(rawValue: "a\($0)"), "x" as String?)
        }
        let failure = #expect(throws: Perennial.Failure.self) {
            try app.perennial.setAttributes(Dictionary(uniqueKeysWithValues: many))
        }
        #expect(failure?.code == .attributesFull && failure?.isTemporary == true)
        #expect(try app.engine.attributes.pending.isEmpty)
        try await app.stop()
    }

    @Test func `without a customer, attributes are refused`() async throws {
        let app = try await launch { $0.allowsAnonymous = false }
        let failure = #expect(throws: Perennial.Failure.self) {
            try app.perennial.setAttributes(["team": "red"])
        }
        #expect(failure?.code == .customerMissing)
        try await app.stop()
    }
}
