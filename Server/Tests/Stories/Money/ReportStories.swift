import AppStoreFormats
import Dice
import Engine
import Ledger
import Reports
import Testing

@testable import Simulator

/// Compares reports about many random customers with the simulator's books.
@Suite(.serialized) struct ReportStories {
    private static let accounts = 150
    private static let months = 10
    /// How often reports are compared. Each report is requested again later.
    private static let samples = 6

    @Test func `reports equal the simulator's numbers at any time, and past reports do not change`()
        async throws
    {
        let seed = Dice.seed(announcedBy: "ReportStories", usual: 1)
        let set: @Sendable (inout SimulatorSettings) -> Void = { $0.seed = seed }
        try await DirectShop.open(set) { shop in
            _ = try await shop.engine.reporting.fillMoney()
            var dice = SplitMix64(seed: seed)
            await shop.store.setFaults { $0.notifications.odds[.duplicate] = 0.1 }
            let names = try await shop.store.populate(Self.accounts, within: .months(Self.months))
            // Apps post StoreKit's documents, because no notification names the refund of an
            // upgrade.
            var crowd = Crowd(shop, names)
            var shown: [(at: Instant, figures: Figures)] = []
            for sample in 1...Self.samples {
                // The moment may be at any time of a day. Events that are due later on that day
                // have not happened yet.
                let rest = Int64.random(in: 0..<172_800_000, using: &dice)
                try await shop.store.advance(
                    by: ISODuration(
                        days: Self.months * 30 / Self.samples - 1, milliseconds: rest))
                try await crowd.check("sample \(sample) of seed \(seed)")
                try await shop.postAll(of: names)
                let books = try await Books(of: names, in: shop.store)
                let figures = try await Figures(shop.engine, at: shop.now)
                #expect(figures.counts == books.counts, "sample \(sample), seed \(seed)")
                try await Self.expectRevenue(of: books, in: shop, seed)
                shown.append((shop.now, figures))
            }
            for (moment, figures) in shown {
                let again = try await Figures(shop.engine, at: moment, asKnown: true)
                #expect(again == figures, "the report of \(moment), seed \(seed)")
            }
            let report = try await shop.engine.maintenance.rebuild(verifyOnly: true)
            #expect(report.isClean, "\(report)")
        }
    }

    /// Compares the revenue by day and currency, to the thousandth.
    private static func expectRevenue(
        of books: Books, in shop: DirectShop, _ seed: UInt64
    ) async throws {
        var query = ReportQuery.daily("revenue", until: shop.now)
        // The books do not contain refunds that were reversed.
        query.isRestated = true
        let revenue = try await shop.engine.reporting.report(query, of: "birds")
        var gross: [Books.Key: Int64] = [:]
        var refunded: [Books.Key: Int64] = [:]
        for row in revenue.report.rows {
            guard let currency = row.currency, case .money(let charged) = row.values[0],
                case .money(let back) = row.values[1], case .money(let credited) = row.values[2]
            else { continue }
            let key = Books.Key(day: row.period.days.lowerBound, currency: currency)
            if charged != 0 { gross[key] = charged }
            if back + credited != 0 { refunded[key] = back + credited }
        }
        #expect(Self.differences(gross, books.gross) == [], "gross, seed \(seed)")
        #expect(Self.differences(refunded, books.refunded) == [], "refunded, seed \(seed)")
    }

    /// Differences such as `2026-03-01 USD: 9990, in the books 0`.
    private static func differences(
        _ ours: [Books.Key: Int64], _ books: [Books.Key: Int64]
    ) -> [String] {
        Set(ours.keys).union(books.keys).filter { ours[$0] != books[$0] }.map { key in
            "\(Ledger.CivilDate(dayNumber: key.day).text) \(key.currency): \(ours[key] ?? 0), "
                + "in the books \(books[key] ?? 0)"
        }.sorted()
    }
}

/// The contents of the reports at one moment.
private struct Figures: Hashable {
    var counts: Counts
    var mrr: [String: Int64]

    init(_ engine: Engine, at moment: Instant, asKnown: Bool = false) async throws {
        func rows(_ name: String) async throws -> [Report.Row] {
            var query = ReportQuery.daily(name, until: moment)
            let last = try #require(query.days?.upperBound)
            query.days = last...last
            if asKnown { query.asKnownAt = moment }
            return try await engine.reporting.report(query, of: "birds").report.rows
        }
        let active = try await rows("active").first?.values ?? []
        let trials = try await rows("trials").first?.values ?? []
        let billing = try await rows("billing").first?.values ?? []
        counts = Counts(
            active: active.first?.number ?? 0, trials: trials.last?.number ?? 0,
            grace: active.last?.number ?? 0, retry: billing.last?.number ?? 0)
        mrr = [:]
        for row in try await rows("mrr_movement") {
            let parts = row.values.map(\.number)
            #expect(parts.dropLast().reduce(0, +) == parts.last, "the parts of \(row)")
            mrr[row.currency ?? ""] = parts.last
        }
    }
}

private struct Counts: Hashable {
    var active: Int64 = 0
    var trials: Int64 = 0
    var grace: Int64 = 0
    var retry: Int64 = 0
}

/// The contents of the reports as the test counts them from the simulator's books.
private struct Books {
    struct Key: Hashable {
        var day: Int64
        var currency: String

        init(day: Int64, currency: String) {
            self.day = day
            self.currency = currency
        }

        init(_ date: AppStoreDate, _ currency: String) {
            self.init(day: date.milliseconds / 86_400_000, currency: currency)
        }
    }

    var counts = Counts()
    var gross: [Key: Int64] = [:]
    var refunded: [Key: Int64] = [:]
    private let now: AppStoreDate

    init(of names: [String], in store: AppStoreSimulator) async throws {
        now = AppStoreDate(milliseconds: store.clock.milliseconds)
        for name in names {
            for purchase in try await store.purchases(of: name)
            where purchase.environment == .production && purchase.ownership == .purchased {
                add(purchase)
            }
        }
    }

    private mutating func add(_ purchase: TruePurchase) {
        // A renewal may be charged a day before it begins. Reports count a renewal when it begins.
        for charge in purchase.charges where charge.amount > 0 && charge.at <= now {
            gross[Key(charge.at, charge.currency), default: 0] += charge.amount
            guard charge.refunded > 0, let at = charge.refundedAt else { continue }
            refunded[Key(max(at, charge.at), charge.currency), default: 0] += charge.refunded
        }
        guard let period = purchase.period else { return }
        let last = purchase.charges.last { $0.at == period.lowerBound } ?? purchase.charges.last
        let isFree = last?.amount == 0
        switch purchase.state {
        case .trial: counts.trials += 1
        case .paid, .offer: counts.active += 1
        case .grace:
            counts.active += isFree ? 0 : 1
            counts.grace += isFree ? 0 : 1
            counts.trials += isFree ? 1 : 0
        case .retry: counts.retry += 1
        case .expired, .refunded: break
        }
    }
}

extension ReportQuery {
    /// A report by day over the two years before a moment.
    fileprivate static func daily(_ name: String, until moment: Instant) -> Self {
        let today = WallClock.utc.dayNumber(at: moment)
        return ReportQuery(name, days: today - 730...today, by: .day)
    }
}

extension DirectShop {
    var now: Instant { Instant(milliseconds: store.clock.milliseconds) }

    /// Every app posts all transactions, newly signed by StoreKit.
    func postAll(of names: [String]) async throws {
        for name in names where try await !store.purchases(of: name).isEmpty {
            let all = try await store.transactions(on: name + "-1")
            _ = try await engine.recording.record(
                PurchaseEvidence(signedTransactions: all), of: CustomerID(rawValue: name),
                app: Self.app)
        }
    }
}

extension AppStoreSimulator {
    /// The purchases of an account; empty if the account has not arrived yet.
    func purchases(of name: String) throws -> [TruePurchase] {
        do { return try groundTruth(of: name).purchases } catch {
            guard error.code == "unknown_account" else { throw error }
            return []
        }
    }
}
