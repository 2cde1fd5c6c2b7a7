import AppStoreClient
import AppStoreFormats
import AppStoreTrust
import Engine
import Ledger
import Simulator
import Storage
import Synchronization

/// One of our servers: a process that may crash, and then restarts with only the database.
struct Server: Sendable {
    let number: Int
    var process: ServerProcess
    var engine: Engine
    let skew: ClockSkew
    /// Whether the server was stopped on purpose. Such a server is started again later.
    var isStopped = false
    /// Whether the server's crash was noticed, and its restart is scheduled.
    var isRestartScheduled = false
}

/// How far a server's clock is ahead, in milliseconds.
final class ClockSkew: Sendable {
    private let milliseconds = Atomic<Int64>(0)

    func set(_ ahead: Int64) { milliseconds.store(ahead, ordering: .relaxed) }
    var ahead: Int64 { milliseconds.load(ordering: .relaxed) }
}

extension Trial {
    /// The maximum error of a server's clock, in milliseconds.
    private static let skewMax = 300_000
    /// The number of crashes in one trial after which servers no longer crash.
    private static let crashesMax = 25
    /// The maximum number of checks that a server runs in a row.
    private static let checksMax = 20
    private static let minute: Int64 = 60_000
    /// The maximum number of requests per purchase at one moment.
    private static let requestsAtOnceMax = 30

    // MARK: - Start and crash

    func startServers() {
        let count = plan.has(.secondServer) ? 2 : 1
        for number in 0..<count { servers.append(server(number, skew: ClockSkew())) }
    }

    private func server(_ number: Int, skew: ClockSkew) -> Server {
        let isMortal =
            isStormy && plan.has(.crashes) && report.statistics.crashes < Self.crashesMax
        let odds: Double = serverRandom.choice(0.005, 0.02, 0.08)
        let lots = TrialRandom(seed: serverRandom.next(), part: "power")
        let switchboard = switchboard
        let power = ServerProcess(odds: isMortal ? odds : 0, lots) {
            await switchboard.interleave(number)
        }
        let clock = simulator.clock
        let now: @Sendable () -> Int64 = { clock.milliseconds + skew.ahead }
        let send = sender(number, power)
        let client = AppStoreClient(
            fixture.credentials, now: { AppStoreDate(milliseconds: now()) }, send: send)
        let worker = CheckWorker(
            holder: "\(number)-\(serverRandom.next())", lease: ReconciliationSettings.lease,
            checksPerSecond: 1_000_000)
        let progress = appUpdate
        var reconciliation = ReconciliationSettings(worker: worker, rules: plan.checkRules) { _ in
            progress.isModern ? client : nil
        }
        let verification = verification(number, power, now)
        reconciliation.receiptVerification = { _ in progress.isModern ? nil : verification }
        (reconciliation.concurrentChecksMax, reconciliation.canWait) = (1, false)
        let engine = Engine(
            database: UnsteadyDatabase(database: database, power: power, commits: commits) {
                clock.milliseconds
            },
            apps: fixture.apps(of: plan), verifiers: [TrialFixture.app: fixture.verifier],
            now: { Instant(milliseconds: now()) }, reconciliation: reconciliation,
            logger: Self.logger)
        return Server(number: number, process: power, engine: engine, skew: skew)
    }

    /// A function that sends a server's requests to the App Store.
    func sender(
        _ number: Int, _ power: ServerProcess
    ) -> @Sendable (AppStoreRequest) async throws -> AppStoreResponse {
        let switchboard = switchboard
        return { request in
            try await power.step(.atRequest)
            let answer = try await switchboard.respond(
                AppStoreCall(server: number, power: power, request: request))
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
        servers[number].skew.set(
            Int64(serverRandom.number(in: -Self.skewMax...Self.skewMax)))
        report.tally.add("clock skewed")
    }

    /// Schedules the restart of servers that have crashed.
    func scheduleRestarts() async {
        for number in servers.indices {
            let server = servers[number]
            guard !server.process.isOn, !server.isStopped, !server.isRestartScheduled else {
                continue
            }
            servers[number].isRestartScheduled = true
            if sabotage?.kind == .eventLostAtCrash { await loseEvent() }
            if let step = server.process.crashedAt { report.tally.add(step.rawValue) }
            report.statistics.crashes += 1
            let pause = serverRandom.length(from: .seconds(1), to: .hours(3))
            schedule.add(.start(server: number), at: now + pause)
        }
    }

    /// Deletes the last event from the log, as if it had not been written.
    private func loseEvent() async {
        let lost = "(SELECT last_sequence FROM logs WHERE logs.app = events.app)"
        do {
            try await Database(database).numberEvents()
            try await database.write { connection in
                try connection.run("DELETE FROM events WHERE sequence = \(lost)", [])
                try connection.run("UPDATE logs SET last_sequence = last_sequence - 1", [])
            }
        } catch { report.tally.add("no event to delete") }
    }

    /// A random running server. Returns nil if none is running.
    func anyServer() -> Server? {
        serverRandom.pick(servers.filter { $0.process.isOn })
    }

    // MARK: - Reconciliation

    /// When a server would run the next check. Returns nil if no server is running, or nothing is
    /// due.
    func nextCheck() async throws -> Int64? {
        guard servers.contains(where: { $0.process.isOn }) else { return nil }
        let commits = commits.count
        if let knownDue, knownDue.commits == commits {
            return knownDue.due.map { max($0, nextCheckAt, now) }
        }
        let due = try await Database(database).read { tx in
            try Ledger.Environment.allCases.compactMap { environment -> Int64? in
                guard let next = try tx.checks.next(of: TrialFixture.app, in: environment) else {
                    return nil
                }
                let paused = try tx.appStore.health(of: TrialFixture.app, in: environment)
                    .pausedUntil
                return max(next, paused).milliseconds
            }.min()
        }
        knownDue = (commits, due)
        return due.map { max($0, nextCheckAt, now) }
    }

    /// Lets a server run the checks that are due, and emit time-based events.
    func reconcileDue() async throws {
        guard let server = anyServer() else { return }
        if serverRandom.happens(0.3) { try await emitTimeBasedEvents(server) }
        let before = report.statistics.questions
        do {
            for _ in 0..<Self.checksMax {
                guard try await server.engine.reconciliation.reconcileDue(limit: 1) > 0 else {
                    break
                }
            }
        } catch { try requireCrashed(error, server) }
        await scheduleRestarts()
        try expectNoBurst(after: report.statistics.questions - before)
        // A check is due, but no server may run it: another server has leased it, or the clocks
        // differ.
        nextCheckAt = report.statistics.questions == before ? now + Self.minute : now
    }

    /// Fails if a server sends endless requests at one moment.
    private func expectNoBurst(after questions: Int) throws {
        if requestBurst.at != now { requestBurst = (now, 0) }
        requestBurst.questions += questions
        guard requestBurst.questions <= Self.requestsAtOnceMax * max(1, checkedPurchases.count)
        else {
            throw violation("bounded work", "\(requestBurst.questions) requests at one moment")
        }
        if questions > 0 { try expectBoundedWork() }
    }

    private func emitTimeBasedEvents(_ server: Server) async throws {
        do { while try await server.engine.events.emitTimeBased() > 0 {} } catch {
            try requireCrashed(error, server)
        }
        await scheduleRestarts()
    }

    func backfill() async throws {
        guard let server = anyServer() else { return }
        do {
            let count = try await server.engine.backfill.run()
            report.tally.add("lost notification backfilled", count)
        } catch { try requireCrashed(error, server) }
        await scheduleRestarts()
    }

    func walk() async throws {
        guard let server = anyServer() else { return }
        do {
            let count = try await server.engine.backfill.walkHistory()
            report.tally.add("swallowed notification found", count)
        } catch { try requireCrashed(error, server) }
        await scheduleRestarts()
    }

    /// After a delivery, servers usually run due checks at once.
    func runDueWork() async {
        await checkAnswersIfDue()
        guard serverRandom.happens(0.7), let next = try? await nextCheck(), next <= now else {
            return
        }
        do { try await reconcileDue() } catch {
            report.violation = report.violation ?? error as? Violation
        }
    }

    private func checkAnswersIfDue() async {
        guard isLookDue, report.violation == nil, await simulator.isIdle else { return }
        isLookDue = false
        do { try await checkAnswers() } catch { report.violation = error as? Violation }
    }

    /// An operation may fail if its server has crashed; otherwise the failure is a violation.
    func requireCrashed(_ error: any Error, _ server: Server) throws {
        guard server.process.isOn else { return }
        throw Violation(oracle: "verbs", message: "server \(server.number) failed: \(error)")
    }

    // MARK: - Races

    /// Lets another server act between two steps of one server.
    func interleave(_ number: Int) async {
        guard plan.has(.races), isStormy, !isRacing, raceRandom.happens(0.1),
            let other = servers.first(where: { $0.number != number && $0.process.isOn })
        else { return }
        isRacing = true
        defer { isRacing = false }
        report.tally.add("race")
        do {
            switch raceRandom.number(in: 0...3) {
            case 0: try await other.engine.backfill.run()
            case 1:
                guard let body = lastBody else { return }
                _ = try await other.engine.recording.record(notification: body)
            default: _ = try await other.engine.reconciliation.reconcileDue(limit: 1)
            }
        } catch {
            // The other server's work can be rejected, or fail because that server crashes. Neither
            // affects this step.
            report.tally.add("race lost")
        }
        await scheduleRestarts()
    }
}

extension Plan {
    /// Whether only the sweep finds lost notifications. This is the case with an incomplete
    /// history, and with version 1 notifications, for which there is no history.
    var waitsForSweep: Bool { has(.incompleteHistory) || clientEra != .modern }

    /// The sweep runs more often if trials depend on it, so that a trial need not last a year.
    var checkRules: CheckRules {
        waitsForSweep ? CheckRules(sweep: .days(3)) : CheckRules()
    }
}
