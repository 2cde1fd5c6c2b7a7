import Engine
import HTTPServer
import Ledger
import Storage
import StorageSQLite
import Synchronization
import Testing

@testable import Program

/// Alerts about the page Health, from the turn of a row to what arrives.
@Suite struct AlertStories {
    /// Enough observations for a row to count as well again.
    private static let recovery = Int(AlertWatch.wellAfter / AlertWorker.pause) + 1

    private static func onEachDatabase(
        _ kind: StoryDatabase,
        _ body: (AlertDesk, () throws -> any DatabaseDriver) async throws -> Void
    ) async throws {
        try await kind.withAddress { address in
            let opened = Mutex<[any DatabaseDriver]>([])
            defer { for database in opened.withLock({ $0 }) { database.close() } }
            try await body(AlertDesk()) {
                let database = try kind.open(address)
                opened.withLock { $0.append(database) }
                return database
            }
        }
    }

    @Test(arguments: StoryDatabase.allCases)
    func `an alert is sent once when a row turns bad, and once when it has recovered`(
        kind: StoryDatabase
    ) async throws {
        try await Self.onEachDatabase(kind) { desk, open in
            let server = try await desk.server(on: try open())
            try await server.run(times: Self.recovery)
            #expect(desk.arrivals.isEmpty)
            server.setDropped(1)
            let began = desk.now
            try await server.run()
            #expect(desk.arrivals.isEmpty)
            try await server.run(times: 100)
            for channel in AlertChannel.allCases { #expect(desk.texts(on: channel) == ["+Log"]) }
            let message = try #require(desk.arrivals.first?.message)
            let line = try #require(message.turnedBad.first)
            #expect(message.kind == .needsAttention && line.since == began && line.app == nil)
            #expect(line.sentence == "1 line was dropped.")
            #expect(line.remedy == "Read standard error faster.")
            server.setDropped(0)
            try await server.run(times: Self.recovery - 2)
            #expect(desk.texts() == ["+Log"])
            try await server.run(times: 100)
            for channel in AlertChannel.allCases {
                #expect(desk.texts(on: channel) == ["+Log", "-Log"])
            }
            #expect(desk.arrivals.last?.message.kind == .wellAgain)
            #expect(desk.arrivals.last?.message.turnedWell.first?.since == began)
        }
    }

    @Test func `a row that turns bad and well repeatedly causes at most one alert`() async throws {
        try await Self.onEachDatabase(.sqlite) { desk, open in
            let server = try await desk.server(on: try open())
            try await server.run(times: Self.recovery)
            for _ in 0..<20 {
                server.setDropped(1)
                try await server.run()
                server.setDropped(0)
                try await server.run()
            }
            #expect(desk.arrivals.isEmpty)
            for _ in 0..<20 {
                server.setDropped(1)
                try await server.run(times: 2)
                server.setDropped(0)
                try await server.run(times: 5)
            }
            #expect(desk.texts() == ["+Log"])
        }
    }

    @Test func `an alert names the app of each row, and lists the rows that are still bad`()
        async throws
    {
        try await Self.onEachDatabase(.sqlite) { desk, open in
            let server = try await desk.server(on: try open(), products: [])
            try await server.run(times: 3)
            server.setDropped(2)
            try await server.run(times: 3)
            #expect(desk.texts() == ["+Products", "+Log =Products"])
            let line = try #require(desk.arrivals.first?.message.turnedBad.first)
            #expect(line.app == "birds" && line.remedy == "products:")
        }
    }

    @Test(arguments: StoryDatabase.allCases)
    func `after a restart no alert is repeated, and the recovery is still reported`(
        kind: StoryDatabase
    ) async throws {
        try await Self.onEachDatabase(kind) { desk, open in
            let first = try await desk.server(on: try open())
            first.setDropped(1)
            try await first.run(times: 3)
            desk.wait(.hours(2))
            let second = try await desk.server(on: try open())
            second.setDropped(1)
            try await second.run(times: 30)
            #expect(desk.texts() == ["+Log"])
            desk.wait(.hours(2))
            // The third server must observe for some time before it says that all is well.
            let third = try await desk.server(on: try open())
            try await third.run(times: Self.recovery - 1)
            #expect(desk.texts() == ["+Log"])
            try await third.run(times: 30)
            #expect(desk.texts() == ["+Log", "-Log"])
        }
    }

    @Test func `one of two servers sends each alert, and a row recovers only if both see it well`()
        async throws
    {
        try await Self.onEachDatabase(.postgres) { desk, open in
            let one = try await desk.server(on: try open())
            let other = try await desk.server(on: try open())
            func run(times: Int) async throws {
                for _ in 0..<times {
                    async let first: Void = one.run()
                    async let second: Void = other.run()
                    _ = try await (first, second)
                }
            }
            one.setDropped(1)
            other.setDropped(1)
            try await run(times: 20)
            for channel in AlertChannel.allCases { #expect(desk.texts(on: channel) == ["+Log"]) }
            one.setDropped(0)
            try await run(times: 20)
            #expect(desk.texts() == ["+Log"])
            other.setDropped(0)
            try await run(times: 20)
            for channel in AlertChannel.allCases {
                #expect(desk.texts(on: channel) == ["+Log", "-Log"])
            }
        }
    }

    @Test func `a bad row that only a server with a slow clock sees is reported once`() async throws
    {
        try await Self.onEachDatabase(.sqlite) { desk, open in
            let late = try await desk.server(on: try open(), behindBy: .seconds(3_600))
            let other = try await desk.server(on: try open())
            late.setDropped(1)
            for _ in 0..<40 {
                try await late.run()
                try await other.run()
            }
            for channel in AlertChannel.allCases { #expect(desk.texts(on: channel) == ["+Log"]) }
            late.setDropped(0)
            for _ in 0..<20 {
                try await late.run()
                try await other.run()
            }
            #expect(desk.texts(on: .mail) == ["+Log", "-Log"])
        }
    }

    // MARK: - Channels that fail

    @Test(arguments: StoryDatabase.allCases)
    func `if the mail server was unreachable, it later gets all alerts, in order`(
        kind: StoryDatabase
    ) async throws {
        try await Self.onEachDatabase(kind) { desk, open in
            let server = try await desk.server(on: try open())
            try await server.run(times: Self.recovery)
            desk.setReachable(false, .mail)
            server.setDropped(1)
            try await server.run(times: 3)
            server.setDropped(0)
            try await server.run(times: 2 * Self.recovery)
            #expect(desk.texts(on: .webhook) == ["+Log", "-Log"])
            #expect(desk.texts(on: .mail) == [])
            let backlog = try #require(
                server.http.engine.alerts.backlogs.first { $0.channel == .mail })
            #expect(backlog.waiting == 2 && backlog.trouble == "Nobody answers.")
            // The pauses between the attempts double.
            let attempts = desk.attempts[.mail] ?? 0
            #expect((4...6).contains(attempts) && backlog.failures == attempts)
            desk.setReachable(true, .mail)
            let pauses = AlertService.pauses.longest / AlertWorker.pause
            try await server.run(times: Int(pauses) + 1)
            #expect(desk.texts(on: .mail) == ["+Log", "-Log"])
            #expect(desk.arrivals.filter { $0.channel == .webhook }.count == 2)
            let after = server.http.engine.alerts.backlogs
            #expect(after.allSatisfy { $0.waiting == 0 && $0.trouble == nil && $0.failures == 0 })
            let counts = server.http.engine.counts
            #expect(counts.alertsSent == 4 && counts.alertsFailed == attempts)
        }
    }

    @Test func `an alert that cannot be sent for a day is given up`() async throws {
        try await Self.onEachDatabase(.sqlite) { desk, open in
            let server = try await desk.server(on: try open())
            desk.setReachable(false, .mail)
            server.setDropped(1)
            try await server.run(times: 3)
            desk.wait(AlertService.messageAgeMax)
            desk.setReachable(true, .mail)
            try await server.run(times: 2)
            #expect(desk.texts(on: .mail) == [] && desk.texts(on: .webhook) == ["+Log"])
            #expect(server.http.engine.counts.alertsGivenUp == 1)
        }
    }

    @Test(arguments: StoryDatabase.allCases)
    func `a refused message is given up for the next one, and kept while no other waits`(
        kind: StoryDatabase
    ) async throws {
        try await Self.onEachDatabase(kind) { desk, open in
            let server = try await desk.server(on: try open())
            let alerts = server.http.engine.alerts
            let unwanted = AlertMessage.test(id: AlertService.newID(), at: desk.now)
            desk.refuse(unwanted)
            try await alerts.enqueue(unwanted, on: [.mail])
            let twoHours = Int(.seconds(7_200) / AlertWorker.pause)
            try await server.run(times: twoHours)
            #expect((desk.attempts[.mail] ?? 0) >= AlertService.refusalsMax)
            #expect(alerts.backlogs.first?.waiting == 1)
            let next = AlertMessage.test(id: AlertService.newID(), at: desk.now)
            try await alerts.enqueue(next, on: [.mail])
            try await server.run(times: twoHours)
            #expect(desk.arrivals.map(\.message.id) == [next.id])
            #expect(server.http.engine.counts.alertsGivenUp == 1)
            #expect(alerts.backlogs.first?.waiting == 0)
        }
    }

    @Test func `only an answer about the message counts as its refusal`() {
        let refusals = [400, 406, 413, 415, 422, 500]
        let others = [301, 401, 403, 404, 408, 410, 429, 501, 502, 503, 504]
        for status in refusals { #expect(AlertSender.concernsMessage(status), "\(status)") }
        for status in others { #expect(!AlertSender.concernsMessage(status), "\(status)") }
    }

    @Test(arguments: StoryDatabase.allCases)
    func `if too many alerts wait, the oldest are given up`(kind: StoryDatabase) async throws {
        try await Self.onEachDatabase(kind) { desk, open in
            let server = try await desk.server(on: try open())
            let alerts = server.http.engine.alerts
            desk.setReachable(false, .mail)
            for _ in 0..<AlertRows.messagesMax + 3 {
                try await alerts.enqueue(
                    .test(id: AlertService.newID(), at: desk.now), on: [.mail])
                desk.wait(.seconds(1))
            }
            try await alerts.refresh(of: AlertChannel.allCases)
            #expect(alerts.backlogs.first?.waiting == AlertRows.messagesMax)
            #expect(server.http.engine.counts.alertsGivenUp == 3)
        }
    }

    // MARK: - The database

    @Test func `if the database fails, a server reports the failure, and later the recovery`()
        async throws
    {
        try await Self.onEachDatabase(.sqlite) { desk, open in
            let (broken, whole) = (
                try await desk.server(on: try SQLiteDriver.inMemory()), try open()
            )
            try await broken.run(times: 2)
            let usable = try await desk.server(on: whole)
            let current = Mutex(broken.http)
            let reached = Mutex<[String]>([])
            let worker = AlertWorker(
                of: { current.withLock { $0 } }, on: [.mail], holder: "a", now: { desk.now }
            ) { message, _ in
                let (bad, well) = (message.turnedBad.map(\.name), message.turnedWell.map(\.name))
                reached.withLock { $0.append("\(bad) \(well)") }
                return .sent
            }
            func run(times: Int) async throws {
                for _ in 0..<times {
                    try await worker.observe()
                    while try await worker.send(on: .mail) > 0 {}
                    desk.wait(AlertWorker.pause)
                }
            }
            broken.closeDatabase()
            for _ in 0..<10 {
                try await worker.observe()
                desk.wait(AlertWorker.pause)
            }
            #expect(reached.withLock { $0 } == [#"["Database"] []"#])
            current.withLock { $0 = usable.http }
            try await run(times: 30)
            #expect(reached.withLock { $0 } == [#"["Database"] []"#, #"[] ["Database"]"#])
        }
    }
}
