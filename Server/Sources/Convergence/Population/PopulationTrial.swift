import AppStoreClient
import AppStoreFormats
import Engine
import Ledger
import Simulator
import Storage
import StorageSQLite
import Synchronization

/// Many customers of one world and one server, through a long disruption. Finds faults that a trial
/// with few customers cannot find.
package actor PopulationTrial {
    /// The kind of disruption.
    package enum Disruption: String, Hashable, Sendable, CaseIterable {
        case noNotifications = "no-notifications"
        case noAnswers = "no-answers"
        case neither

        /// Describes the disruption in one sentence.
        package var summary: String {
            switch self {
            case .noNotifications: "No notification arrives, from the first day to the last."
            case .noAnswers: "The API does not respond for eight days; notifications arrive."
            case .neither: "For eight days neither notifications nor API responses arrive."
            }
        }

        /// The number of minutes within which an answer must become correct. The minutes are
        /// counted from the end of the disruption. But if notifications or API responses still
        /// arrive during the disruption, the minutes are counted from each change.
        var intervalMinutes: Int64 { self == .neither ? 60 : Trial.intervalMinutes }
    }

    /// The result of a population trial.
    package struct Report: Sendable {
        package let trouble: Disruption
        package let accounts: Int
        package internal(set) var violation: Violation?
        /// The server's explanation of the affected customer at the time of the violation: lines of
        /// text.
        package internal(set) var explanation: [String] = []
        package internal(set) var purchases = 0
        /// The number of answers that were compared with the ground truth.
        package internal(set) var answers = 0
        /// The number of compared answers that did not match the ground truth yet.
        package internal(set) var late = 0
        /// The number of compared answers that were held open because nothing had been reported.
        package internal(set) var held = 0
        package internal(set) var refusedNotifications = 0
        package internal(set) var questions = 0
    }

    package static let accountsMax = 10_000
    /// The days before the disruption, if it does not last from the beginning.
    private static let calmDays = 20
    private static let outageDays = 8
    private static let hour: Int64 = 3_600_000
    private static let minute: Int64 = 60_000

    let fixture: TrialFixture
    nonisolated let simulator: AppStoreSimulator
    private let database: SQLiteDriver
    private let engine: Engine
    private let seed: UInt64
    /// The virtual days during which customers arrive.
    private let days: Int
    private var names: Set<String> = []
    private var evidence = Evidence()
    private var posted: Set<String> = []
    private var isCut = false
    private var seen = 0
    private var report: Report

    /// Plays one disruption to its end, or to the first violation.
    ///
    /// - Parameter days: the length of the disruption, if it lasts from the beginning.
    package static func play(
        _ accounts: Int, _ trouble: Disruption, seed: UInt64, days: Int = 90, in house: TrialFixture
    ) async throws -> Report {
        let line = PopulationConnection()
        let crowd = try PopulationTrial(accounts, trouble, seed, days, house, line)
        line.connect(crowd)
        defer { line.connect(nil) }
        return try await crowd.play()
    }

    private init(
        _ accounts: Int, _ trouble: Disruption, _ seed: UInt64, _ days: Int, _ house: TrialFixture,
        _ line: PopulationConnection
    ) throws {
        self.fixture = house
        self.seed = seed
        self.days = trouble == .noNotifications ? days : Self.calmDays + Self.outageDays
        report = Report(trouble: trouble, accounts: accounts)
        var settings = SimulatorSettings(
            seed: seed, now: Plan.start, shop: house.catalogue, notificationURL: "direct")
        settings.isDeterministic = true
        let simulator = AppStoreSimulator(
            settings, authority: house.authority, post: { _, body in await line.deliver(body) })
        self.simulator = simulator
        database = try SQLiteDriver.inMemory()
        let clock = simulator.clock
        let client = AppStoreClient(
            house.credentials, now: { AppStoreDate(milliseconds: clock.milliseconds) },
            send: { try await line.respond($0) })
        let worker = CheckWorker(
            holder: "crowd", lease: ReconciliationSettings.lease, checksPerSecond: 1_000_000)
        var reconciliation = ReconciliationSettings(worker: worker) { _ in client }
        (reconciliation.concurrentChecksMax, reconciliation.canWait) = (1, false)
        engine = Engine(
            database: UnsteadyDatabase(
                database: database,
                power: ServerProcess(odds: 0, TrialRandom(seed: seed, part: "power")) {},
                commits: CommitCounter()
            ) { clock.milliseconds },
            apps: house.apps, verifiers: [TrialFixture.app: house.verifier],
            now: { Instant(milliseconds: clock.milliseconds) }, reconciliation: reconciliation,
            logger: Trial.logger)
    }

    private nonisolated var now: Int64 { simulator.clock.milliseconds }

    private func play() async throws -> Report {
        try await engine.prepare()
        names = Set(try await simulator.populate(report.accounts, within: .days(days)))
        do {
            switch report.trouble {
            case .noNotifications: try await playWithoutNotifications()
            case .noAnswers, .neither: try await playThroughOutage()
            }
        } catch let breach as Violation { report.violation = breach }
        report.purchases = posted.count
        database.close()
        return report
    }

    private func playWithoutNotifications() async throws {
        isCut = true
        for _ in 0..<days {
            try await play(hours: 24)
            try await expectTruth(within: report.trouble.intervalMinutes)
        }
    }

    private func playThroughOutage() async throws {
        try await play(hours: Self.calmDays * 24)
        try await expectTruth(within: Trial.intervalMinutes)
        let end = now + Int64(Self.outageDays * 24) * Self.hour
        let outage = Outage(
            from: AppStoreDate(milliseconds: now), until: AppStoreDate(milliseconds: end))
        await simulator.setFaults { $0.apiOutage = outage }
        isCut = report.trouble == .neither
        while now + 6 * Self.hour < end {
            try await play(hours: 6)
            try await checkAnswers { _ in }
            if !isCut { try await expectTruth(within: Trial.intervalMinutes) }
        }
        try await play(until: end, every: Self.hour)
        isCut = false
        try await play(
            until: end + report.trouble.intervalMinutes * Self.minute, every: Self.minute)
        // The last changes may still be in transit.
        try await expectTruth(within: 6)
    }

    // MARK: - Time

    private func play(hours: Int) async throws {
        try await play(until: now + Int64(hours) * Self.hour, every: Self.hour)
    }

    /// Lets time pass. At each step the server does the due work; a real server does so every
    /// second.
    private func play(until end: Int64, every step: Int64) async throws {
        while now < end {
            try await simulator.advance(
                to: AppStoreDate(milliseconds: min(end, now + step)))
            try await postNewPurchases()
            try await engine.backfill.run()
            while try await engine.reconciliation.reconcileDue(limit: 50) > 0 {}
        }
    }

    /// If a customer has bought something new, lets the customer's app post it once. All later
    /// documents must come from the App Store.
    private func postNewPurchases() async throws {
        let (sent, next) = await simulator.notifications(from: seen)
        seen = next
        let news = Set(sent.compactMap(\.draft.account))
        for name in news.sorted() where names.contains(name) {
            let books = await simulator.groundTruths(of: [name])[0]
            let new = books.map(\.originalTransactionID).filter { posted.insert($0).inserted }
            guard !new.isEmpty else { continue }
            let texts = try await simulator.transactions(on: name + "-1")
            let letters = texts.compactMap { ObservedDocument(transaction: $0) }
            _ = try await engine.recording.record(
                PurchaseEvidence(signedTransactions: texts), of: await customer(of: name),
                app: TrialFixture.app)
            for letter in letters { evidence.recordAccepted(letter, at: now) }
        }
    }

    /// The customer id of an account, as in ``Trial``.
    private func customer(of name: String) async -> CustomerID {
        CustomerID(rawValue: await simulator.accountToken(on: name + "-1") ?? name)
    }

    // MARK: - Between the App Store and the server

    fileprivate func deliver(_ body: [UInt8]) async -> PostResult {
        guard !isCut else {
            report.refusedNotifications += 1
            return PostResult(error: "connection refused")
        }
        do {
            _ = try await engine.recording.record(notification: body)
            if let letter = ObservedDocument(notification: body) {
                evidence.recordAccepted(letter, at: now)
            }
            return PostResult(status: 200)
        } catch { return PostResult(status: error.isPermanent ? 400 : 503) }
    }

    fileprivate func respond(_ request: AppStoreRequest) async throws -> AppStoreResponse {
        let answer = await simulator.respond(request)
        if request.purchase != nil { report.questions += 1 }
        if answer.status == 200 {
            for letter in request.documents(in: answer.body) {
                evidence.recordPossible(letter, at: now)
            }
            if let purchase = request.purchase { await extendHorizon(purchase) }
        }
        return AppStoreResponse(
            status: answer.status, retryAfter: answer.retryAfter, body: answer.body)
    }

    /// Records that after a successful response the server may know everything that the ground
    /// truth contains about the purchase.
    private func extendHorizon(_ purchase: String) async {
        guard let booked = await simulator.truePurchase(purchase) else { return }
        evidence.extendHorizon(booked, at: now)
    }

    // MARK: - Checks

    /// Checks the answer for every customer. No answer may be open or shut in contradiction to the
    /// App Store's reports.
    private func checkAnswers(_ take: (Snapshot) -> Void) async throws {
        let names = names.sorted()
        let books = await simulator.groundTruths(of: names)
        let safety = SafetyOracle(evidence: evidence, now: now)
        for (name, books) in zip(names, books) where !books.isEmpty {
            let state = try await engine.customers.find(
                await customer(of: name), app: TrialFixture.app,
                environment: Ledger.Environment(books))
            report.answers += 1
            for booked in books where posted.contains(booked.originalTransactionID) {
                let ours = state.purchases.first {
                    $0.timeline.purchase.original.rawValue == booked.originalTransactionID
                }
                guard let access = ours?.access else { continue }
                if access.state == .unconfirmed { report.held += 1 }
                if let breach = safety.violation(of: booked, access) { throw breach }
            }
            take(Snapshot(name: name, books, state, posted, at: now))
        }
    }

    /// The ground truth and the answer for one customer.
    private struct Snapshot {
        let name: String
        let environment: Ledger.Environment
        let truth: Set<PurchaseView>
        let answer: Set<PurchaseView>

        init(
            name: String, _ books: [TruePurchase], _ state: CustomerState, _ known: Set<String>,
            at now: Int64
        ) {
            self.name = name
            environment = Ledger.Environment(books)
            truth = Set(
                books.filter { known.contains($0.originalTransactionID) }.map { PurchaseView($0) })
            let present = Instant(milliseconds: now)
            answer = Set(state.purchases.compactMap { PurchaseView($0, at: present) })
        }
    }

    /// Expects every customer's answer to equal the ground truth, except for what has changed
    /// within the given minutes.
    private func expectTruth(within minutes: Int64) async throws {
        var wrong: [String: Set<PurchaseView>] = [:]
        try await checkAnswers { if $0.truth != $0.answer { wrong[$0.name] = $0.truth } }
        guard !wrong.isEmpty else { return }
        report.late += wrong.count
        try await play(until: now + minutes * Self.minute, every: min(minutes, 10) * Self.minute)
        var still: Snapshot?
        try await checkAnswers {
            if $0.truth != $0.answer, wrong[$0.name] == $0.truth { still = still ?? $0 }
        }
        guard let still else { return }
        report.explanation = try await engine.customers.explanation(
            of: await customer(of: still.name), in: still.environment)
        throw Violation(
            oracle: "convergence",
            message: "at \(Instant(milliseconds: now)), for \(minutes) min: \(still.name):"
                + " the ground truth is \(still.truth.subtracting(still.answer)),"
                + " and the answer is \(still.answer.subtracting(still.truth))")
    }
}

/// Connects the population trial with the simulator and the server's client, which are created
/// before it.
private final class PopulationConnection: Sendable {
    private let crowd = Mutex<PopulationTrial?>(nil)

    func connect(_ crowd: PopulationTrial?) { self.crowd.withLock { $0 = crowd } }

    private var connected: PopulationTrial? { crowd.withLock { $0 } }

    func deliver(_ body: [UInt8]) async -> PostResult {
        await connected?.deliver(body) ?? PostResult(error: "connection refused")
    }

    func respond(_ request: AppStoreRequest) async throws -> AppStoreResponse {
        guard let connected else {
            throw Violation(oracle: "crowd", message: "the trial has ended")
        }
        return try await connected.respond(request)
    }
}
