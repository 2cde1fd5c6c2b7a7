import Ledger
import Reports

/// Compares the rows about money with the facts they are derived from.
extension Consistency {
    /// Describes the rows of a purchase that differ from what the facts imply, in one sentence
    /// each.
    func moneyDifferences(
        of purchase: PurchaseID, in app: AppID
    ) throws(StorageFailure) -> [String] {
        guard purchase.appTransaction == nil else { return [] }
        let books = PurchaseBooks(
            of: purchase, try tx.facts.all(about: purchase, in: app).map(\.fact),
            rules: rules.money(of: app))
        let key = PurchaseRows.key(of: purchase, in: app)
        var differing: [String] = []
        let stored = MovementHistory(versions: try tx.movements.versions(of: purchase, in: app))
        if Set(stored.known.map(\.movement)) != Set(books.movements) {
            differing.append("movements")
        }
        let lines = try connection.rows(MoneyRows.selectTransactions, key)
        if lines.map(\.values) != MoneyRows.values(of: books.transactions, key, besides: nil) {
            differing.append("transactions")
        }
        // A purchase that is missing or cannot be read is reported as a difference elsewhere.
        if let reported = try? tx.purchases.reported(purchase, in: app),
            try hasOtherSubscription(than: reported, key)
        {
            differing.append("subscription")
        }
        return differing.map { "\($0) differ: \(app) \(purchase)" }
    }

    private func hasOtherSubscription(
        than reported: ReportedPurchase, _ key: [Value]
    ) throws(StorageFailure) -> Bool {
        let stored = try connection.rows(MoneyRows.selectSubscription, key)
        let wanted = tx.money.subscriptionValues(of: reported)
        return stored.first.map { MoneyRows.lasting($0.values) } != wanted.map(MoneyRows.lasting)
    }

    // MARK: - Sums

    /// Describes the sums and cohorts that differ from the movements, in one sentence each. Empty
    /// if the sums and cohorts are not complete yet.
    func sumDifferences(of app: AppID) throws(StorageFailure) -> [String] {
        guard try tx.money.isComplete(of: app), try tx.sums.hasSums(of: app) else { return [] }
        var sentences: [String] = []
        for environment in Environment.allCases {
            for division in Division.allCases {
                let filter = MovementFilter(
                    app: app, environment: environment, until: Self.always, division: division)
                let days = Self.allDays
                let scanned = try tx.sums.scanned(
                    filter, before: days.upperBound, opening: days.lowerBound)
                for (keepsDays, span) in [(true, SumTable.Span.day), (false, .month)] {
                    let plan = SumPlan(days, today: days.upperBound, keepsDays: keepsDays)
                    let stored = try tx.sums.stored(filter, plan)
                    guard Self.totals(scanned, span) != Self.totals(stored, span) else { continue }
                    sentences.append(
                        "sums by \(span.rawValue) and \(division.rawValue) differ: \(app) "
                            + environment.rawValue)
                }
            }
            sentences += try cohortDifferences(of: app, in: environment)
        }
        return sentences
    }

    private func cohortDifferences(
        of app: AppID, in environment: Environment
    ) throws(StorageFailure) -> [String] {
        var sentences: [String] = []
        let filter = MovementFilter(app: app, environment: environment, until: Self.always)
        let days = Self.allDays
        for cohort in Cohort.summed {
            let scanned = try tx.cohorts.scanned(cohort, filter, in: days)
            let stored = try tx.cohorts.stored(
                cohort, filter, in: days, through: days.upperBound)
            guard CohortSum.numbers(scanned) != CohortSum.numbers(stored) else { continue }
            sentences.append(
                "numbers of the cohort \(cohort.rawValue) differ: \(app) \(environment.rawValue)")
        }
        return sentences
    }

    /// A moment later than any movement.
    private static let always = Instant(milliseconds: Int64.max)
    /// All days that are compared, from 1600-03-01 to 3000-01-01: whole months.
    private static let allDays =
        CivilDate(year: 1600, month: 3, day: 1)
        .dayNumber..<CivilDate(year: 3000, month: 1, day: 1)
        .dayNumber

    private static func totals(
        _ sums: [MovementSum], _ span: SumTable.Span
    ) -> [MovementSum: Totals] {
        sums.reduce(into: [:]) { found, sum in
            var key = sum
            key.day = span.start(of: sum.day)
            key.totals = Totals()
            found[key, default: Totals()] += sum.totals
        }
    }
}

extension CohortSum {
    /// The numbers of each day and currency. Days and currencies whose numbers are all zero are
    /// left out. One day can have several sums.
    static func numbers(_ sums: [CohortSum]) -> [CohortSum: [Int64]] {
        sums.reduce(into: [:]) { found, sum in
            var key = sum
            key.numbers = []
            let before = found[key] ?? sum.numbers.map { _ in 0 }
            found[key] = zip(before, sum.numbers).map { $0 + $1 }
        }.filter { $0.value.contains { $0 != 0 } }
    }
}
