import AppStoreClient
import AppStoreFormats
import Engine
import Ledger
import Simulator
import Storage
import StorageSQLite
import Synchronization

/// Many customers of one world and one server, through a long disruption: this shows what a trial
/// of few customers cannot.
package actor Crowd {
    /// What is disrupted.
    package enum Trouble: String, Hashable, Sendable, CaseIterable {
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

        /// The minutes after which all answers must be correct: counted from the end of the
        /// disruption, or at all times if the other channel works.
        var intervalMinutes: Int64 { self == .neither ? 60 : Trial.intervalMinutes }
    }

    /// The result of a population trial.
    package struct Report: Sendable {
        package let trouble: Trouble
        package let accounts: Int
        package internal(set) var breach: Breach?
        /// The server's explanation of the affected customer at that time: lines of text.
        package internal(set) var known: [String] = []
        package internal(set) var purchases = 0
        /// Answers that were compared with the ground truth.
        package internal(set) var answers = 0
        /// Of these, how many did not match the ground truth yet.
        package internal(set) var late = 0
        /// How many were held open because nothing had been reported.
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

    let house: House
    nonisolated let simulator: AppStoreSimulator
    private let database: SQLiteDatabase
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
        _ accounts: Int, _ trouble: Trouble, seed: UInt64, days: Int = 90, in house: House
    ) async throws -> Report {
        let line = Line()
        let crowd = try Crowd(accounts, trouble, seed, days, house, line)
        line.connect(crowd)
        defer { line.connect(nil) }
        return try await crowd.play()
    }

    private init(
        _ accounts: Int, _ trouble: Trouble, _ seed: UInt64, _ days: Int, _ house: House,
        _ line: Line
    ) throws {
        self.house = house
        self.seed = seed
        self.days = trouble == .noNotifications ? days : Self.calmDays + Self.outageDays
        report = Report(trouble: trouble, accounts: accounts)
        var settings = SimulatorSettings(
            seed: seed, now: Plan.start, shop: house.shop, notificationURL: "direct")
        settings.isDeterministic = true
        let simulator = AppStoreSimulator(
            settings, authority: house.authority, post: { _, body in await line.deliver(body) })
        self.simulator = simulator
        database = try SQLiteDatabase.inMemory()
        let clock = simulator.clock
        let client = AppStoreClient(
            house.credentials, now: { AppStoreDate(milliseconds: clock.milliseconds) },
            send: { try await line.answer($0) })
        let worker = CheckWorker(
            holder: "crowd", lease: Asking.lease, checksPerSecond: 1_000_000)
        var asking = Asking(worker: worker) { _ in client }
        (asking.questionsAtOnce, asking.waits) = (1, false)
        engine = Engine(
            database: UnsteadyDatabase(
                database: database, power: Power(odds: 0, Lots(seed: seed, part: "power")) {},
                commits: Commits()
            ) { clock.milliseconds },
            apps: house.apps, verifiers: [House.app: house.verifier],
            now: { Instant(milliseconds: clock.milliseconds) }, asking: asking,
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
        } catch let breach as Breach { report.breach = breach }
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
            try await look { _ in }
            if !isCut { try await expectTruth(within: Trial.intervalMinutes) }
        }
        try await play(until: end, every: Self.hour)
        isCut = false
        try await play(
            until: end + report.trouble.intervalMinutes * Self.minute, every: Self.minute)
        // What changed a moment ago may still be in transit.
        try await expectTruth(within: 6)
    }

    // MARK: - Time

    private func play(hours: Int) async throws {
        try await play(until: now + Int64(hours) * Self.hour, every: Self.hour)
    }

    /// Lets time pass. The server does what is due at each step; a real one does so every second.
    private func play(until end: Int64, every step: Int64) async throws {
        while now < end {
            try await simulator.advance(
                to: AppStoreDate(milliseconds: min(end, now + step)))
            try await postNews()
            try await engine.catchUp()
            while try await engine.reconcileDue(limit: 50) > 0 {}
        }
    }

    /// The apps of customers who have bought something new post it once. Everything after that must
    /// come from the App Store.
    private func postNews() async throws {
        let (sent, next) = await simulator.notifications(from: seen)
        seen = next
        let news = Set(sent.compactMap(\.notice.account))
        for name in news.sorted() where names.contains(name) {
            let books = await simulator.truths(of: [name])[0]
            let new = books.map(\.originalTransactionID).filter { posted.insert($0).inserted }
            guard !new.isEmpty else { continue }
            let texts = try await simulator.transactions(on: name + "-1")
            let letters = texts.compactMap { Letter(transaction: $0) }
            _ = try await engine.record(
                PurchaseEvidence(signedTransactions: texts), of: await customer(of: name),
                app: House.app)
            for letter in letters { evidence.take(letter, at: now) }
        }
    }

    /// The customer id of an account, as in ``Trial``.
    private func customer(of name: String) async -> CustomerID {
        CustomerID(rawValue: await simulator.accountToken(on: name + "-1") ?? name)
    }

    // MARK: - Between the App Store and the server

    fileprivate func deliver(_ body: [UInt8]) async -> PostAnswer {
        guard !isCut else {
            report.refusedNotifications += 1
            return PostAnswer(error: "connection refused")
        }
        do {
            _ = try await engine.record(notification: body)
            if let letter = Letter(notification: body) { evidence.take(letter, at: now) }
            return PostAnswer(status: 200)
        } catch { return PostAnswer(status: error.isForever ? 400 : 503) }
    }

    fileprivate func answer(_ request: AppStoreRequest) async throws -> AppStoreResponse {
        let answer = await simulator.answer(request)
        if request.purchase != nil { report.questions += 1 }
        if answer.status == 200 {
            for letter in request.letters(in: answer.body) { evidence.offer(letter, at: now) }
            if let purchase = request.purchase { await reach(purchase) }
        }
        return AppStoreResponse(
            status: answer.status, retryAfter: answer.retryAfter, body: answer.body)
    }

    /// After a successful response the server may know everything that the ground truth contains
    /// about the purchase.
    private func reach(_ purchase: String) async {
        guard let booked = await simulator.booked(purchase) else { return }
        evidence.reach(booked, at: now)
    }

    // MARK: - Checks

    /// Checks the answer for every customer. None may be open or shut in contradiction to what was
    /// reported.
    private func look(_ take: (Look) -> Void) async throws {
        let names = names.sorted()
        let books = await simulator.truths(of: names)
        let safety = Safety(evidence: evidence, now: now)
        for (name, books) in zip(names, books) where !books.isEmpty {
            let state = try await engine.customer(
                await customer(of: name), app: House.app,
                environment: Ledger.Environment(books))
            report.answers += 1
            for booked in books where posted.contains(booked.originalTransactionID) {
                let ours = state.purchases.first {
                    $0.timeline.purchase.original.rawValue == booked.originalTransactionID
                }
                guard let access = ours?.access else { continue }
                if access.state == .unconfirmed { report.held += 1 }
                if let breach = safety.breach(of: booked, access) { throw breach }
            }
            take(Look(name: name, books, state, posted, at: now))
        }
    }

    /// The ground truth and the answer for one customer.
    private struct Look {
        let name: String
        let environment: Ledger.Environment
        let truth: Set<Holding>
        let answer: Set<Holding>

        init(
            name: String, _ books: [BookedPurchase], _ state: CustomerState, _ known: Set<String>,
            at now: Int64
        ) {
            self.name = name
            environment = Ledger.Environment(books)
            truth = Set(
                books.filter { known.contains($0.originalTransactionID) }.map { Holding($0) })
            let present = Instant(milliseconds: now)
            answer = Set(state.purchases.compactMap { Holding($0, at: present) })
        }
    }

    /// Expects every customer's answer to equal the ground truth, except for what has changed
    /// within the given minutes.
    private func expectTruth(within minutes: Int64) async throws {
        var wrong: [String: Set<Holding>] = [:]
        try await look { if $0.truth != $0.answer { wrong[$0.name] = $0.truth } }
        guard !wrong.isEmpty else { return }
        report.late += wrong.count
        try await play(until: now + minutes * Self.minute, every: min(minutes, 10) * Self.minute)
        var still: Look?
        try await look {
            if $0.truth != $0.answer, wrong[$0.name] == $0.truth { still = still ?? $0 }
        }
        guard let still else { return }
        report.known = try await engine.explanation(
            of: await customer(of: still.name), in: still.environment)
        throw Breach(
            oracle: "convergence",
            words: "at \(Instant(milliseconds: now)), for \(minutes) min: \(still.name):"
                + " the ground truth is \(still.truth.subtracting(still.answer)),"
                + " and the answer is \(still.answer.subtracting(still.truth))")
    }
}

/// Connects the simulator and the client, which are created first, to the population trial.
private final class Line: Sendable {
    private let crowd = Mutex<Crowd?>(nil)

    func connect(_ crowd: Crowd?) { self.crowd.withLock { $0 = crowd } }

    private var connected: Crowd? { crowd.withLock { $0 } }

    func deliver(_ body: [UInt8]) async -> PostAnswer {
        await connected?.deliver(body) ?? PostAnswer(error: "connection refused")
    }

    func answer(_ request: AppStoreRequest) async throws -> AppStoreResponse {
        guard let connected else { throw Breach(oracle: "crowd", words: "the trial has ended") }
        return try await connected.answer(request)
    }
}
