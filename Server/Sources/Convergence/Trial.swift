import AppStoreFormats
import Engine
import Ledger
import Logging
import Simulator
import Storage
import StorageSQLite
import Synchronization

/// One seed: a simulated App Store, its customers with their apps, and our servers on one database,
/// in one process and under one virtual clock. Nothing sleeps, and nothing is sent over a network.
///
/// First comes a storm: customers act, and the plan's faults occur. Then the faults end, and after
/// the promised time every answer must equal the ground truth. Then the trial continues for a while
/// without faults, and every answer must be correct at every moment. No answer may ever do what an
/// oracle forbids.
package actor Trial {
    let plan: Plan
    let house: House
    let sabotage: Sabotage?
    let calling: Calling?
    let progress: Progress
    nonisolated let simulator: AppStoreSimulator
    nonisolated let database: SQLiteDatabase
    let switchboard: Switchboard
    /// Answers the checks of the trial: it has the correct time, and does nothing else.
    let auditor: Engine
    var servers: [Server] = []
    var accounts: [String] = []
    /// The customer that the app of an account speaks for.
    var customers: [String: CustomerID] = [:]
    /// Customers who were erased.
    var erased: Set<CustomerID> = []
    /// Consumables of erased customers: they have no owner for good.
    var usedUp: Set<String> = []
    var agenda = Agenda()
    var evidence = Evidence()
    var report: TrialReport
    /// Purchases that were linked to their customer.
    var linked: Set<String> = []
    /// Transactions that the app of an account knows of.
    var seen: Set<String> = []
    var isStormy = true
    /// From then on every answer must be correct at every moment.
    var hasConverged = false
    var isRacing = false
    /// Purchases that were checked before.
    var asked: Set<String> = []
    /// With an incomplete history: purchases that the sweep has not reached.
    var unasked: Set<String> = []
    /// The number of requests at one moment.
    var haste: (at: Int64, questions: Int) = (0, 0)
    /// The time before which another check has no effect.
    var patience: Int64 = 0
    var serverLots: Lots
    var appLots: Lots
    var actLots: Lots
    var raceLots: Lots
    var lookLots: Lots
    var wireLots: Lots
    var speechLots: Lots
    var thiefLots: Lots
    var swallowLots: Lots
    /// The odds that a notification is lost after a 200 response.
    let swallowOdds: Double
    /// In a legacy world: the ground truth at the time when an answer was first seen to differ from
    /// it.
    var otherwise: [String: (truth: Holding, at: Int64)] = [:]
    /// Purchases whose answer may differ, because they were not checked since.
    var excused: Set<String> = []
    /// The milestones that were seen.
    var sights: Set<String> = []
    /// The notification that was posted last.
    var lastBody: [UInt8]?
    /// A document arrived after one that was signed later: a server that used the last one would
    /// answer incorrectly now.
    var isLookDue = false
    /// When the next check is due, as of a number of commits.
    var knownDue: (commits: Int, due: Int64?)?
    /// The commits of all servers.
    let commits = Commits()

    /// Plays a plan to its end, or to the first violation.
    ///
    /// - Throws: if the trial cannot be set up.
    package static func play(
        _ plan: Plan, in house: House, with sabotage: SabotageKind? = nil
    ) async throws -> TrialReport {
        let switchboard = Switchboard()
        let trial = try Trial(plan, house, sabotage, switchboard)
        switchboard.connect(trial)
        defer { switchboard.connect(nil) }
        return try await trial.play()
    }

    init(
        _ plan: Plan, _ house: House, _ sabotage: SabotageKind?, _ switchboard: Switchboard
    ) throws {
        self.plan = plan
        self.house = house
        self.switchboard = switchboard
        calling = plan.turn.flatMap { Calling.of($0) }
        progress = Progress(plan.speech)
        self.sabotage = sabotage.map { Sabotage($0, house.authority) }
        let simulator = AppStoreSimulator(
            plan.settings(house.shop), authority: house.authority,
            post: { _, body in await switchboard.deliver(body) },
            quiesce: { await switchboard.settle() })
        self.simulator = simulator
        database = try house.databases.take()
        auditor = Self.auditor(of: database, house, simulator.clock)
        report = TrialReport(plan: plan)
        serverLots = plan.lots("servers")
        appLots = plan.lots("apps")
        actLots = plan.lots("acts")
        raceLots = plan.lots("races")
        lookLots = plan.lots("looks")
        wireLots = plan.lots("wires")
        speechLots = plan.lots("speeches")
        thiefLots = plan.lots("thieves")
        swallowLots = plan.lots("swallowed")
        swallowOdds = swallowLots.choice(0.1, 0.3, 0.6, 1)
    }

    private static func auditor(
        of database: SQLiteDatabase, _ house: House, _ clock: VirtualClock
    ) -> Engine {
        Engine(
            database: database, apps: house.apps, verifiers: [House.app: house.verifier],
            now: { Instant(milliseconds: clock.milliseconds) }, logger: logger)
    }

    /// An auditor on another database.
    func auditor(of database: SQLiteDatabase) -> Engine {
        Self.auditor(of: database, house, simulator.clock)
    }

    static let logger = Logger(label: "trial") { _ in SwiftLogNoOpLogHandler() }

    nonisolated var now: Int64 { simulator.clock.milliseconds }

    private func play() async throws -> TrialReport {
        try await auditor.prepare()
        await simulator.setFaults { [plan] in plan.arm(&$0) }
        if plan.accounts > 0 {
            accounts = try await simulator.populate(plan.accounts, within: .days(plan.days))
        }
        try await comeCalled()
        try await comePeople()
        startServers()
        fillAgenda()
        do {
            try await play(until: plan.stormEnd.milliseconds)
            try await clear()
            try await converge()
            try await rest()
            try await expectWholeness()
        } catch let breach as Breach {
            report.breach = breach
            report.known = try await explanations()
        }
        await count()
        try await house.databases.giveBack(database)
        return report
    }

    /// The server's explanations for all customers, with the documents they are based on.
    private func explanations() async throws -> [String] {
        var lines: [String] = []
        for name in accounts {
            let environment = Ledger.Environment(await books(of: name))
            lines += try await auditor.explanation(of: customer(of: name), in: environment)
        }
        return lines
    }

    // MARK: - Time

    /// Lets time pass up to a moment, stopping whenever something is scheduled.
    func play(until end: Int64) async throws {
        while true {
            let wake = try await nextQuestion()
            let next = [agenda.next, wake].compactMap(\.self).min()
            guard let next, next <= end else { break }
            try await advance(to: max(next, now))
            while let deed = agenda.take(by: now) { try await carryOut(deed) }
            // Nothing here suspends: let other trials and tasks of the process run.
            await Task.yield()
            if let wake, wake <= now { try await askDue() }
        }
        try await advance(to: end)
    }

    private func advance(to moment: Int64) async throws {
        guard moment >= now else { return }
        try await simulator.advance(to: AppStoreDate(milliseconds: moment))
        try await watchAccounts()
    }

    private func carryOut(_ deed: Agenda.Deed) async throws {
        if deed != .look, deed != .catchUp, deed != .walk { report.note("\(deed)", at: now) }
        switch deed {
        case .open(let account): try await open(accounts[account])
        case .post(let account): try await postNews(of: accounts[account])
        case .act: await act()
        case .resume(let purchase): await carryOut(.resume, of: purchase)
        case .step(let number): try await take(step: number)
        case .look: try await look()
        case .catchUp: try await catchUp()
        case .walk: try await walk()
        case .stop(let server):
            servers[server].power.turnOff()
            servers[server].isStopped = true
            report.tally.add("server stopped")
        case .start(let server): start(server)
        case .skew(let server): skew(server)
        case .update: await update()
        case .buy(let account, let product): await buy(product, account: account)
        case .erase(let account): try await erase(account: account)
        }
    }

    /// Ends all faults. What is in progress continues.
    private func clear() async throws {
        isStormy = false
        await simulator.setFaults { $0.stop() }
        agenda.remove { deed in
            switch deed {
            case .look, .step, .resume: false
            case .open, .post, .act, .catchUp, .walk, .stop, .start, .skew, .update, .buy, .erase:
                true
            }
        }
        for number in servers.indices {
            servers[number].skew.put(0)
            servers[number].power.steady()
            if !servers[number].power.isOn { start(number) }
        }
    }
}

extension Engine {
    /// The maximum number of lines of an explanation.
    private static let explanationMax = 80

    /// What the engine answers about a customer, and the documents it is based on, cut to the
    /// maximum number of lines.
    func explanation(
        of customer: CustomerID, in environment: Ledger.Environment
    ) async throws -> [String] {
        let text = try await explain(customer, app: House.app, environment: environment)
        return text.split(separator: "\n").prefix(Self.explanationMax).map(String.init)
    }
}

/// Connects objects that are created before the trial to it.
final class Switchboard: Sendable {
    private let trial = Mutex<Trial?>(nil)

    func connect(_ trial: Trial?) { self.trial.withLock { $0 = trial } }

    private var connected: Trial? { trial.withLock { $0 } }

    func deliver(_ body: [UInt8]) async -> PostAnswer {
        await connected?.deliver(body) ?? PostAnswer(error: "connection refused")
    }

    func settle() async { await connected?.settle() }

    func between(_ server: Int) async { await connected?.between(server) }

    func answer(_ call: Trial.Call) async throws -> DirectAnswer {
        guard let connected else { throw Breach(oracle: "trial", words: "the trial has ended") }
        return try await connected.answer(call)
    }
}

extension Faults {
    /// Switches off all faults.
    mutating func stop() {
        notifications.odds = [:]
        api.odds = [:]
        devices.odds = [:]
        notificationOutage = nil
        apiOutage = nil
    }
}
