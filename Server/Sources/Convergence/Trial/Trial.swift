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
/// without faults, and every answer must be correct at every moment. No answer may ever break a
/// promise that an oracle checks.
package actor Trial {
    let plan: Plan
    let fixture: TrialFixture
    let sabotage: Sabotage?
    let calling: ScriptedCase?
    let appUpdate: AppUpdate
    nonisolated let simulator: AppStoreSimulator
    nonisolated let database: SQLiteDriver
    let switchboard: Switchboard
    /// The engine that the trial's own checks use. Its clock is correct, and it does no other work.
    let auditor: Engine
    var servers: [Server] = []
    var accounts: [String] = []
    /// The customer id that the app of an account uses.
    var customers: [String: CustomerID] = [:]
    /// Customers who were erased.
    var erased: Set<CustomerID> = []
    /// Consumables of erased customers. Such consumables never get an owner again.
    var usedUp: Set<String> = []
    var schedule = Schedule()
    var evidence = Evidence()
    var report: TrialReport
    /// Purchases that were linked to their customer.
    var linked: Set<String> = []
    /// Transactions that the app of an account knows.
    var seen: Set<String> = []
    var isStormy = true
    /// Whether every answer must now be correct at every moment.
    var hasConverged = false
    var isRacing = false
    /// Purchases that were checked at least once.
    var checkedPurchases: Set<String> = []
    /// With an incomplete history: the purchases that the sweep has not reached.
    var uncheckedPurchases: Set<String> = []
    /// The number of requests at one moment.
    var requestBurst: (at: Int64, questions: Int) = (0, 0)
    /// The time before which another check has no effect.
    var nextCheckAt: Int64 = 0
    var serverRandom: TrialRandom
    var appRandom: TrialRandom
    var actRandom: TrialRandom
    var raceRandom: TrialRandom
    var checkRandom: TrialRandom
    var wireRandom: TrialRandom
    var eraRandom: TrialRandom
    var thiefRandom: TrialRandom
    var swallowRandom: TrialRandom
    var intentRandom: TrialRandom
    var robberRandom: TrialRandom
    var groupRandom: TrialRandom
    /// For each store account, the purchases that its second device has posted.
    var besidePosted: [String: Set<PurchaseID>] = [:]
    /// Copies of documents that apps have posted, in the hands of thieves.
    var copies: [CopiedDocument] = []
    /// For each store account, the purchases that a thief has taken, until the buyer asks for them.
    var taken: [String: Set<PurchaseID>] = [:]
    /// The odds that a notification is lost after a 200 response.
    let swallowOdds: Double
    /// In a legacy world: the ground truth at the time when an answer was first found to differ
    /// from it.
    var differences: [String: (truth: PurchaseView, at: Int64)] = [:]
    /// Purchases whose answer may differ, because they were not checked since the difference arose.
    var excused: Set<String> = []
    /// The milestones that were seen.
    var milestones: Set<String> = []
    /// The notification that was posted last.
    var lastBody: [UInt8]?
    /// Whether a document arrived after a document that was signed later. A server that always used
    /// the last arrived document would answer incorrectly now.
    var isLookDue = false
    /// The time when the next check is due, and the number of commits when this time was read from
    /// the database.
    var knownDue: (commits: Int, due: Int64?)?
    /// Counts the commits of all servers.
    let commits = CommitCounter()

    /// Plays a plan to its end, or to the first violation.
    ///
    /// - Throws: if the trial cannot be set up.
    package static func play(
        _ plan: Plan, in house: TrialFixture, with sabotage: SabotageKind? = nil
    ) async throws -> TrialReport {
        let switchboard = Switchboard()
        let trial = try Trial(plan, house, sabotage, switchboard)
        switchboard.connect(trial)
        defer { switchboard.connect(nil) }
        return try await trial.play()
    }

    init(
        _ plan: Plan, _ house: TrialFixture, _ sabotage: SabotageKind?, _ switchboard: Switchboard
    ) throws {
        self.plan = plan
        self.fixture = house
        self.switchboard = switchboard
        calling = plan.scriptedRow.flatMap { ScriptedCase.of($0) }
        appUpdate = AppUpdate(plan.clientEra)
        self.sabotage = sabotage.map { Sabotage($0, house.authority) }
        let simulator = AppStoreSimulator(
            plan.settings(house.catalogue), authority: house.authority,
            post: { _, body in await switchboard.deliver(body) },
            quiesce: { await switchboard.runDueWork() })
        self.simulator = simulator
        database = try house.databases.checkOut()
        auditor = Self.auditor(of: database, house.apps(of: plan), house, simulator.clock)
        report = TrialReport(plan: plan)
        serverRandom = plan.random("servers")
        appRandom = plan.random("apps")
        actRandom = plan.random("acts")
        raceRandom = plan.random("races")
        checkRandom = plan.random("looks")
        wireRandom = plan.random("wires")
        eraRandom = plan.random("speeches")
        thiefRandom = plan.random("thieves")
        swallowRandom = plan.random("swallowed")
        intentRandom = plan.random("intents")
        robberRandom = plan.random("robbers")
        groupRandom = plan.random("groups")
        swallowOdds = swallowRandom.choice(0.1, 0.3, 0.6, 1)
    }

    private static func auditor(
        of database: SQLiteDriver, _ apps: [AppSettings], _ house: TrialFixture,
        _ clock: VirtualClock
    ) -> Engine {
        Engine(
            database: database, apps: apps, verifiers: [TrialFixture.app: house.verifier],
            now: { Instant(milliseconds: clock.milliseconds) }, logger: logger)
    }

    /// An engine for checks on another database.
    func auditor(of database: SQLiteDriver) -> Engine {
        Self.auditor(of: database, fixture.apps(of: plan), fixture, simulator.clock)
    }

    static let logger = Logger(label: "trial") { _ in SwiftLogNoOpLogHandler() }

    nonisolated var now: Int64 { simulator.clock.milliseconds }

    private func play() async throws -> TrialReport {
        try await auditor.prepare()
        await simulator.setFaults { [plan] in plan.arm(&$0) }
        if plan.accounts > 0 {
            accounts = try await simulator.populate(plan.accounts, within: .days(plan.days))
        }
        try await addScriptedCustomer()
        try await addSpecialCustomers()
        try await addGroup()
        startServers()
        fillSchedule()
        do {
            try await play(until: plan.stormEnd.milliseconds)
            try await clearFaults()
            try await converge()
            try await playWithoutFaults()
            try await expectInvariants()
        } catch let breach as Violation {
            report.violation = breach
            report.explanation = try await explanations()
        }
        await recordCoverage()
        try await fixture.databases.checkIn(database)
        return report
    }

    /// The server's explanations for all customers, with the documents they are based on.
    private func explanations() async throws -> [String] {
        var lines: [String] = []
        for name in accounts {
            let environment = Ledger.Environment(await groundTruth(of: name))
            lines += try await auditor.customers.explanation(
                of: customer(of: name), in: environment)
        }
        return lines
    }

    // MARK: - Time

    /// Lets time pass up to a moment, stopping whenever something is scheduled.
    func play(until end: Int64) async throws {
        while true {
            let wake = try await nextCheck()
            let next = [schedule.next, wake].compactMap(\.self).min()
            guard let next, next <= end else { break }
            try await advance(to: max(next, now))
            while let deed = schedule.dequeue(by: now) { try await perform(deed) }
            // The calls in this loop do not suspend. So the loop yields, to let other trials and
            // tasks of the process run.
            await Task.yield()
            if let wake, wake <= now { try await reconcileDue() }
        }
        try await advance(to: end)
    }

    private func advance(to moment: Int64) async throws {
        guard moment >= now else { return }
        try await simulator.advance(to: AppStoreDate(milliseconds: moment))
        try await watchAccounts()
    }

    private func perform(_ deed: Schedule.Action) async throws {
        if deed != .check, deed != .backfill, deed != .walk { report.log("\(deed)", at: now) }
        switch deed {
        case .open(let account): try await open(accounts[account])
        case .post(let account): try await postLatest(of: accounts[account])
        case .act: await act()
        case .resume(let purchase): await perform(.resume, of: purchase)
        case .step(let number): try await perform(step: number)
        case .check: try await checkAnswers()
        case .backfill: try await backfill()
        case .walk: try await walk()
        case .stop(let server):
            servers[server].process.turnOff()
            servers[server].isStopped = true
            report.tally.add("server stopped")
        case .start(let server): start(server)
        case .skew(let server): skew(server)
        case .update: await update()
        case .buy(let account, let product): await buy(product, account: account)
        case .erase(let account): try await erase(account: account)
        case .rob: try await rob()
        case .signIn(let account): try await signIn(account: account)
        case .winBack(let account): try await winBack(account: account)
        case .group: await actInGroup()
        }
    }

    /// Ends all faults. Everything that is in progress continues.
    private func clearFaults() async throws {
        isStormy = false
        await simulator.setFaults { $0.stop() }
        schedule.remove { deed in
            switch deed {
            case .check, .step, .resume, .winBack: false
            case .open, .post, .act, .backfill, .walk, .stop, .start, .skew, .update, .buy, .erase,
                .rob, .signIn, .group:
                true
            }
        }
        for number in servers.indices {
            servers[number].skew.set(0)
            servers[number].process.stopCrashing()
            if !servers[number].process.isOn { start(number) }
        }
    }
}

extension CustomerService {
    /// The maximum number of lines of an explanation.
    private static let explanationMax = 80

    /// The engine's answer about a customer, and the documents it is based on, cut to the maximum
    /// number of lines.
    func explanation(
        of customer: CustomerID, in environment: Ledger.Environment
    ) async throws -> [String] {
        let text = try await explain(customer, app: TrialFixture.app, environment: environment)
        return text.split(separator: "\n").prefix(Self.explanationMax).map(String.init)
    }
}

/// Connects the trial with objects that are created before it.
final class Switchboard: Sendable {
    private let trial = Mutex<Trial?>(nil)

    func connect(_ trial: Trial?) { self.trial.withLock { $0 = trial } }

    private var connected: Trial? { trial.withLock { $0 } }

    func deliver(_ body: [UInt8]) async -> PostResult {
        await connected?.deliver(body) ?? PostResult(error: "connection refused")
    }

    func runDueWork() async { await connected?.runDueWork() }

    func interleave(_ server: Int) async { await connected?.interleave(server) }

    func respond(_ call: Trial.AppStoreCall) async throws -> DirectAPIResponse {
        guard let connected else {
            throw Violation(oracle: "trial", message: "the trial has ended")
        }
        return try await connected.respond(call)
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
