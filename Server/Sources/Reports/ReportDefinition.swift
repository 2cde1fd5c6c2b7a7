import Ledger

/// The columns of a report, and how each column is computed from movements. If a definition
/// changes, it gets a new version, because numbers of different versions cannot be compared.
package struct ReportDefinition: Sendable {
    package var name: String
    package var version: Int
    package var title: String
    /// The question that the report answers, for people.
    package var sentence: String
    /// The cohort, if the report's rows are cohorts; then movements are not added up by period.
    /// Otherwise nil.
    package var cohort: Cohort? = nil
    package var columns: [Column]
    /// The profile of the definition. Nil if the definition is our own.
    package var profile: ReportProfile? = nil

    /// Whether each currency has separate rows.
    package var hasMoney: Bool { columns.contains { $0.unit != .count } }

    /// Whether the report shows amounts in force at a period's beginning or end.
    var hasStock: Bool {
        columns.contains { column in
            if case .stock = column.source { return true }
            return column.name == "opening"
        }
    }

    /// Whether the report shows payments within a period. If not, it needs no rates for these days.
    var hasFlows: Bool {
        hasOpening
            || columns.contains { column in
                if case .flow = column.source { return true }
                return false
            }
    }

    /// Whether the report has the column `opening`, which shows the amounts or counts in force at
    /// the beginning of a period.
    var hasOpening: Bool { columns.contains { $0.name == "opening" } }

    package struct Column: Sendable {
        package var name: String
        package var sentence: String
        package var unit: Unit
        /// The movements that the number is computed from.
        package var source: Source
        let value: @Sendable (PeriodTally) -> ReportValue

        init(
            _ name: String, _ unit: Unit, _ source: Source, _ sentence: String,
            _ value: @escaping @Sendable (PeriodTally) -> ReportValue
        ) {
            (self.name, self.unit, self.source) = (name, unit, source)
            (self.sentence, self.value) = (sentence, value)
        }

        /// The contribution of movements to the number.
        ///
        /// - Parameter kind: nil if the movements are of several kinds.
        package func value(of totals: Totals, kind: Movement.Kind?) -> ReportValue {
            guard let kind else { return value(PeriodTally(opening: totals)) }
            return value(PeriodTally(flows: [kind: totals]))
        }
    }

    package enum Unit: String, Hashable, Sendable {
        case money
        case count
        case percent
    }

    package enum Source: Hashable, Sendable {
        /// Movements of these kinds within the period.
        case flow(Set<Movement.Kind>)
        /// All movements up to the period's end, which give the state at that time.
        case stock(Measure)
        /// Computed from other columns.
        case computed
    }

    /// A quantity at the end of a period.
    package enum Measure: String, Hashable, Sendable, CaseIterable {
        case mrr
        case active
        case trials
        case grace
        case retry
        case notRenewing = "not_renewing"
        case mrrOfFourWeeks = "mrr_of_four_weeks"
        case contracted
        case promised
        case seats
    }
}

/// A number of a report.
package enum ReportValue: Hashable, Sendable {
    /// An amount in thousandths of the currency's unit.
    case money(Int64)
    case count(Int64)
    /// A share of a whole. If the whole is zero, there is no percentage.
    case share(Int64, of: Int64)

    /// The amount, the count or, for a share, the number that is divided by the whole.
    package var number: Int64 {
        switch self {
        case .money(let number), .count(let number), .share(let number, _): number
        }
    }

    /// Whether the number is zero. For a share, this is the number that is divided by the whole.
    package var isNothing: Bool { number == 0 }
}

/// The movements within one period, in one currency and part of a division.
package struct PeriodTally: Hashable, Sendable {
    /// Everything before the period.
    package var opening: Totals
    package var flows: [Movement.Kind: Totals]
    /// The amount by which the opening amounts have grown because exchange rates have changed. Zero
    /// if amounts were not converted.
    package var exchange: Movement.Amounts
    /// The numbers of a report about cohorts: see ``Cohort``.
    package var cohort: [Int64]
    /// The numbers of ``cohort`` for everything before the period.
    package var before: [Int64]

    package init(
        opening: Totals = Totals(), flows: [Movement.Kind: Totals] = [:],
        exchange: Movement.Amounts = Movement.Amounts(),
        cohort: [Int64] = [], before: [Int64] = []
    ) {
        self.cohort = cohort
        self.before = before
        self.opening = opening
        self.flows = flows
        self.exchange = exchange
    }

    package var flow: Totals { flows.values.reduce(Totals(), +) }

    package var closing: Totals {
        var closing = opening + flow
        closing.amounts = closing.amounts + exchange
        return closing
    }

    func flow(of kinds: Movement.Kind...) -> Totals { flow(of: Set(kinds)) }

    func flow(of kinds: Set<Movement.Kind>) -> Totals {
        kinds.reduce(Totals()) { $0 + (flows[$1] ?? Totals()) }
    }
}
