import AppStoreFormats
import Engine
import Ledger
import Reports
import Simulator
import StorageSQLite

/// Many customers of several apps, over years. Their money is compared with the simulator's own
/// books, and with the report files that the simulator makes of the books.
package struct MoneyTrial: Sendable {
    package static let accountsMax = 200_000
    package static let monthsMax = 36

    package struct Report: Sendable {
        package internal(set) var accounts = 0
        package internal(set) var notifications = 0
        /// How many numbers were compared with the books. Each number is for one day, or for one
        /// day and one currency.
        package internal(set) var compared = 0
        /// The number of compared numbers that differ between the report without restatement and
        /// the restated report.
        package internal(set) var restated = 0
        /// How many purchases were paid in more than one currency.
        package internal(set) var mixed = 0
        /// How many payments were for several seats.
        package internal(set) var groupCharges = 0
        /// How many amounts of the files were compared, and how many had to be explained.
        package internal(set) var reconciled = 0
        package internal(set) var explained = 0
        package internal(set) var files = 0
        /// The number of moments whose reports were made again at the end.
        package internal(set) var moments = 0
        /// The differences, as sentences. Empty if there are none.
        package internal(set) var differences: [String] = []
        package internal(set) var differencesCount = 0

        mutating func add(_ found: [String]) {
            differencesCount += found.count
            differences += found.prefix(max(0, Self.differencesMax - differences.count))
        }

        /// The maximum number of sentences that are kept.
        static let differencesMax = 100
    }

    /// The number of moments at which reports are made. At the end, the reports of these moments
    /// are made again.
    private static let moments = 10
    /// The time after the last act in which late documents can arrive.
    private static let calmHours: Int64 = 72
    private static let hour: Int64 = 3_600_000

    private let accounts: Int
    private let months: Int
    private let progress: @Sendable (String) -> Void
    private let engine: Engine
    private let database: SQLiteDriver
    private let stalls: [MoneyStall]
    private let clock: MoneyClock
    private var report = Report()

    /// Plays all customers and compares.
    ///
    /// - Parameters:
    ///   - path: the file of the database; nil for one in memory.
    ///   - progress: receives a line from time to time.
    package static func play(
        _ accounts: Int, months: Int, seed: UInt64, in house: TrialFixture, path: String? = nil,
        progress: @escaping @Sendable (String) -> Void = { _ in }
    ) async throws -> Report {
        var trial = try MoneyTrial(accounts, months, seed, house, path, progress)
        defer { trial.database.close() }
        return try await trial.play()
    }

    private init(
        _ accounts: Int, _ months: Int, _ seed: UInt64, _ house: TrialFixture, _ path: String?,
        _ progress: @escaping @Sendable (String) -> Void
    ) throws {
        (self.accounts, self.months, self.progress) = (accounts, months, progress)
        database = try path.map { try SQLiteDriver(path: $0) } ?? SQLiteDriver.inMemory()
        let clock = MoneyClock()
        let agreement = MoneyAgreement(months: months)
        let apps = MoneyStall.names.enumerated().map { place, name in
            MoneyStall.settings(name, place, agreement, house)
        }
        let engine = Engine(
            database: database, apps: apps,
            verifiers: Dictionary(uniqueKeysWithValues: apps.map { ($0.id, house.verifier) }),
            now: { clock.now }, logger: Trial.logger)
        self.engine = engine
        self.clock = clock
        stalls = try apps.enumerated().map { place, app in
            try MoneyStall(app, seed &+ UInt64(place) << 40, agreement, house, engine)
        }
    }

    private mutating func play() async throws -> Report {
        try await engine.prepare()
        while try await engine.reporting.fillMoney() > 0 {}
        report.accounts = accounts
        for stall in stalls { try await stall.populate(accounts / stalls.count, months: months) }
        var shown: [(at: Instant, figures: [MoneyFigures])] = []
        let step = Int64(months) * 30 * 24 * Self.hour / Int64(Self.moments)
        for moment in 1...Self.moments {
            // A random time of a day.
            shown.append(try await advance(by: step + Int64(moment) * 3_599_317))
            progress("\(moment) of \(Self.moments): \(await notificationsCount) notifications")
        }
        for stall in stalls { await stall.calm() }
        _ = try await advance(by: Self.calmHours * Self.hour)
        progress("everything has arrived; apps post what upgrades gave back")
        for stall in stalls {
            clock.follow(stall.store)
            try await stall.postAll()
        }
        report.notifications = await notificationsCount
        for stall in stalls {
            clock.follow(stall.store)
            try await compare(stall)
        }
        try await compareAgain(shown)
        try await compareAfterRebuild()
        return report
    }

    private var notificationsCount: Int {
        get async {
            var count = 0
            for stall in stalls { count += await stall.store.sentNotificationsCount }
            return count
        }
    }

    /// Lets time pass in every app, and then makes the reports.
    private func advance(by milliseconds: Int64) async throws -> (Instant, [MoneyFigures]) {
        var figures: [MoneyFigures] = []
        for stall in stalls {
            clock.follow(stall.store)
            try await stall.store.advance(by: ISODuration(days: 0, milliseconds: milliseconds))
            figures.append(try await MoneyFigures(engine, stall.app.id, at: clock.now))
        }
        return (clock.now, figures)
    }

    // MARK: - Comparisons

    private mutating func compare(_ stall: MoneyStall) async throws {
        let days = stall.firstDay...WallClock.utc.dayNumber(at: clock.now) - 1
        var readings: [MoneyFigures] = []
        for isRestated in [false, true] {
            let figures = try await MoneyFigures(
                engine, stall.app.id, at: clock.now, isRestated: isRestated)
            report.add(figures.openParts)
            let books = try await MoneyFigures(stall.store, days, isRestated: isRestated)
            let (compared, found) = figures.differences(from: books, in: days)
            report.compared += compared
            let reading = isRestated ? "restated" : "as it happened"
            report.add(found.map { "\(stall.app.id), \(reading): \($0)" })
            progress("\(stall.app.id), \(reading): \(compared) numbers compared with the books")
            readings.append(figures)
        }
        report.mixed += await stall.mixedCustomers
        report.groupCharges += await stall.groupChargesCount
        report.restated += readings[0].differences(from: readings[1], in: days).found.count
        for (day, bytes) in await stall.store.salesFiles(days) {
            let name = "S_D_80000001_\(Ledger.CivilDate(dayNumber: day).text).txt"
            _ = try await engine.appleReports.importFile(bytes, name: name, of: stall.app.id)
            report.files += 1
        }
        let sales = try await engine.appleReports.reconcileSales(of: stall.app.id, in: days, .utc)
            .reconciliation
        report.reconciled += sales.comparedCount
        report.explained += sales.differences.count
        // It is unknown how Apple's files report refunds of single seats.
        let seatRefunds = await stall.store.seatRefundRows
        let unexplained = sales.differences.filter { one in
            (one.cause.isResidual || one.cause == .fileMissing)
                && !(SeatRefundRow(one.key).map(seatRefunds.contains) ?? false)
        }
        report.add(
            unexplained.map { one in
                "\(stall.app.id): file of \(Ledger.CivilDate(dayNumber: one.key.day).text), "
                    + "\(one.key.product) \(one.key.country ?? "–"), \(one.quantity.rawValue): "
                    + "ours \(one.ours), Apple's \(one.apples), \(one.cause.rawValue)"
            })
        progress("\(stall.app.id): reconciled with the report files")
    }

    private mutating func compareAgain(
        _ shown: [(at: Instant, figures: [MoneyFigures])]
    ) async throws {
        for (moment, figures) in shown {
            for (stall, figures) in zip(stalls, figures) {
                let again = try await MoneyFigures(
                    engine, stall.app.id, at: moment, isAsKnown: true)
                report.moments += 1
                guard again != figures else { continue }
                report.add(["\(stall.app.id): what was known at \(moment) is shown differently"])
            }
        }
        progress("\(report.moments) reports of earlier moments made again")
    }

    private mutating func compareAfterRebuild() async throws {
        var before: [MoneyFigures] = []
        for stall in stalls {
            before.append(try await MoneyFigures(engine, stall.app.id, at: clock.now))
        }
        let rebuilt = try await engine.maintenance.rebuild(verifyOnly: false)
        if !rebuilt.isClean { report.add(["a rebuild makes other rows: \(rebuilt)"]) }
        for (stall, before) in zip(stalls, before) {
            let after = try await MoneyFigures(engine, stall.app.id, at: clock.now)
            if after != before { report.add(["\(stall.app.id): other numbers after a rebuild"]) }
        }
        progress("rebuilt")
    }
}

extension SeatRefundRow {
    /// Creates the report row of a figure. Returns nil if the figure's country is not known.
    fileprivate init?(_ key: SalesFigure.Key) {
        guard let country = key.country else { return nil }
        self.init(productID: key.product.rawValue, country: country, day: key.day)
    }
}
