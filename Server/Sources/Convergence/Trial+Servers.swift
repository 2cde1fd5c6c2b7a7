import AppStoreClient
import AppStoreFormats
import AppStoreTrust
import Engine
import Ledger
import Simulator
import Storage
import Synchronization

/// One of our servers: a process that may crash and restart with nothing but the database.
struct Server: Sendable {
    let number: Int
    var power: Power
    var engine: Engine
    let skew: Skew
    /// It was stopped on purpose, and will be started again.
    var isStopped = false
    /// Its crash was noticed, and its restart is scheduled.
    var isBuried = false
}

/// How far a server's clock is ahead, in milliseconds.
final class Skew: Sendable {
    private let milliseconds = Atomic<Int64>(0)

    func put(_ ahead: Int64) { milliseconds.store(ahead, ordering: .relaxed) }
    var ahead: Int64 { milliseconds.load(ordering: .relaxed) }
}

extension Trial {
    /// The maximum error of a server's clock, in milliseconds.
    private static let skewMax = 300_000
    /// After this many crashes in one trial, servers no longer crash.
    private static let crashesMax = 25
    /// The maximum number of checks that a server runs in a row.
    private static let questionsMax = 20
    private static let minute: Int64 = 60_000
    /// The maximum number of requests per purchase at one moment.
    private static let questionsAtOnceMax = 30

    // MARK: - Start and crash

    func startServers() {
        let count = plan.has(.secondServer) ? 2 : 1
        for number in 0..<count { servers.append(server(number, skew: Skew())) }
    }

    private func server(_ number: Int, skew: Skew) -> Server {
        let isMortal =
            isStormy && plan.has(.crashes) && report.figures.crashes < Self.crashesMax
        let odds: Double = serverLots.choice(0.005, 0.02, 0.08)
        let lots = Lots(seed: serverLots.next(), part: "power")
        let switchboard = switchboard
        let power = Power(odds: isMortal ? odds : 0, lots) { await switchboard.between(number) }
        let clock = simulator.clock
        let now: @Sendable () -> Int64 = { clock.milliseconds + skew.ahead }
        let send = sender(number, power)
        let client = AppStoreClient(
            house.credentials, now: { AppStoreDate(milliseconds: now()) }, send: send)
        let worker = CheckWorker(
            holder: "\(number)-\(serverLots.next())", lease: Asking.lease,
            checksPerSecond: 1_000_000)
        let progress = progress
        var asking = Asking(worker: worker, rules: plan.checkRules) { _ in
            progress.isModern ? client : nil
        }
        let verification = verification(number, power, now)
        asking.verification = { _ in progress.isModern ? nil : verification }
        (asking.questionsAtOnce, asking.waits) = (1, false)
        let engine = Engine(
            database: UnsteadyDatabase(database: database, power: power, commits: commits) {
                clock.milliseconds
            },
            apps: house.apps, verifiers: [House.app: house.verifier],
            now: { Instant(milliseconds: now()) }, asking: asking, logger: Self.logger)
        return Server(number: number, power: power, engine: engine, skew: skew)
    }

    /// A function that sends a server's requests to the App Store.
    func sender(
        _ number: Int, _ power: Power
    ) -> @Sendable (AppStoreRequest) async throws -> AppStoreResponse {
        let switchboard = switchboard
        return { request in
            try await power.step(.atQuestion)
            let answer = try await switchboard.answer(
                Call(server: number, power: power, request: request))
            return AppStoreResponse(
                status: answer.status, retryAfter: answer.retryAfter, body: answer.body)
        }
    }

    /// Restarts a server: everything in its memory is gone.
    func start(_ number: Int) {
        servers[number] = server(number, skew: servers[number].skew)
        report.tally.add("server started again")
    }

    func skew(_ number: Int) {
        servers[number].skew.put(
            Int64(serverLots.number(in: -Self.skewMax...Self.skewMax)))
        report.tally.add("clock skewed")
    }

    /// Schedules the restart of servers that have crashed.
    func bury() async {
        for number in servers.indices {
            let server = servers[number]
            guard !server.power.isOn, !server.isStopped, !server.isBuried else { continue }
            servers[number].isBuried = true
            if sabotage?.kind == .eventLostAtCrash { await loseEvent() }
            if let step = server.power.diedAt { report.tally.add(step.rawValue) }
            report.figures.crashes += 1
            let pause = serverLots.length(from: .seconds(1), to: .hours(3))
            agenda.add(.start(server: number), at: now + pause)
        }
    }

    /// Deletes the last event from the log, as if it had not been written.
    private func loseEvent() async {
        let lost = "(SELECT last_sequence FROM logs WHERE logs.app = events.app)"
        do {
            try await database.write { connection in
                try connection.run("DELETE FROM events WHERE sequence = \(lost)", [])
                try connection.run("UPDATE logs SET last_sequence = last_sequence - 1", [])
            }
        } catch { report.tally.add("no event to delete") }
    }

    /// A random running server. Returns nil if none is running.
    func anyServer() -> Server? {
        serverLots.pick(servers.filter { $0.power.isOn })
    }

    // MARK: - Reconciliation

    /// When a server would run the next check. Returns nil if no server is running, or nothing is
    /// due.
    func nextQuestion() async throws -> Int64? {
        guard servers.contains(where: { $0.power.isOn }) else { return nil }
        let commits = commits.count
        if let knownDue, knownDue.commits == commits {
            return knownDue.due.map { max($0, patience, now) }
        }
        let due = try await Store(database).reading { tx in
            try Ledger.Environment.allCases.compactMap { environment -> Int64? in
                guard let next = try tx.nextCheck(of: House.app, in: environment) else {
                    return nil
                }
                let paused = try tx.standing(of: House.app, in: environment).pausedUntil
                return max(next, paused).milliseconds
            }.min()
        }
        knownDue = (commits, due)
        return due.map { max($0, patience, now) }
    }

    /// Lets a server run the checks that are due, and emit time-based events.
    func askDue() async throws {
        guard let server = anyServer() else { return }
        if serverLots.happens(0.3) { try await tellTurns(server) }
        let before = report.figures.questions
        do {
            for _ in 0..<Self.questionsMax {
                guard try await server.engine.reconcileDue(limit: 1) > 0 else { break }
            }
        } catch { try excuse(error, server) }
        await bury()
        try expectRest(after: report.figures.questions - before)
        // A check is due and yet none may run: another server has leased it, or the clocks differ.
        patience = report.figures.questions == before ? now + Self.minute : now
    }

    /// Fails if requests are repeated without end at one moment.
    private func expectRest(after questions: Int) throws {
        if haste.at != now { haste = (now, 0) }
        haste.questions += questions
        guard haste.questions <= Self.questionsAtOnceMax * max(1, asked.count) else {
            throw breach("bounded work", "\(haste.questions) requests at one moment")
        }
        if questions > 0 { try expectBoundedWork() }
    }

    private func tellTurns(_ server: Server) async throws {
        do { while try await server.engine.tellTurns() > 0 {} } catch { try excuse(error, server) }
        await bury()
    }

    func catchUp() async throws {
        guard let server = anyServer() else { return }
        do {
            let count = try await server.engine.catchUp()
            report.tally.add("lost notification backfilled", count)
        } catch { try excuse(error, server) }
        await bury()
    }

    func walk() async throws {
        guard let server = anyServer() else { return }
        do {
            let count = try await server.engine.walkHistory()
            report.tally.add("swallowed notification found", count)
        } catch { try excuse(error, server) }
        await bury()
    }

    /// After a delivery, servers usually run due checks at once.
    func settle() async {
        await lookWhereDue()
        guard serverLots.happens(0.7), let next = try? await nextQuestion(), next <= now else {
            return
        }
        do { try await askDue() } catch {
            report.breach = report.breach ?? error as? Breach
        }
    }

    private func lookWhereDue() async {
        guard isLookDue, report.breach == nil, await simulator.isAtRest else { return }
        isLookDue = false
        do { try await look() } catch { report.breach = error as? Breach }
    }

    /// An operation may fail if its server has crashed; otherwise the failure is a violation.
    func excuse(_ error: any Error, _ server: Server) throws {
        guard server.power.isOn else { return }
        throw Breach(oracle: "verbs", words: "server \(server.number) failed: \(error)")
    }

    // MARK: - Races

    /// Lets another server act between two steps of one server.
    func between(_ number: Int) async {
        guard plan.has(.races), isStormy, !isRacing, raceLots.happens(0.1),
            let other = servers.first(where: { $0.number != number && $0.power.isOn })
        else { return }
        isRacing = true
        defer { isRacing = false }
        report.tally.add("race")
        do {
            switch raceLots.number(in: 0...3) {
            case 0: try await other.engine.catchUp()
            case 1:
                guard let body = lastBody else { return }
                _ = try await other.engine.record(notification: body)
            default: _ = try await other.engine.reconcileDue(limit: 1)
            }
        } catch {
            // What it was to do can be rejected, or fail because the server crashes; neither
            // affects this step.
            report.tally.add("race lost")
        }
        await bury()
    }
}

extension Plan {
    /// Whether only the sweep finds what was lost: with an incomplete history, and before version
    /// 2, which has no history.
    var waitsForSweep: Bool { has(.silentHistory) || speech != .modern }

    /// The sweep runs more often if trials depend on it, so that a trial need not last a year.
    var checkRules: CheckRules {
        waitsForSweep ? CheckRules(sweep: .days(3)) : CheckRules()
    }
}
