/// The source of a report's definitions. Definitions of other products are written from their
/// public documentation, so that a developer who moves to this server sees the numbers of both
/// products side by side.
package enum ReportProfile: String, Hashable, Sendable, CaseIterable {
    /// RevenueCat's charts of version 2, as documented in February 2026.
    case revenuecat
    /// Apphud's charts, as documented in 2026.
    case apphud

    /// The defined reports. Each has the name of our report that answers the same question.
    package var definitions: [ReportDefinition] {
        switch self {
        case .revenuecat: ReportCatalogue.revenueCat
        case .apphud: ReportCatalogue.apphud
        }
    }

    package func named(_ name: String) -> ReportDefinition? {
        definitions.first { $0.name == name }
    }
}

extension ReportDefinition {
    /// A name that is unique among all definitions, such as `revenuecat.mrr`.
    package var id: String { "\(profile?.rawValue ?? "perennial").\(name)" }
}

extension Report {
    /// The prefix of our columns beside the columns of a profile.
    private static let ours = "perennial_"

    /// This report with the columns of Perennial's report added on the right.
    package func beside(_ ours: Report) -> Report {
        var result = self
        let own = Dictionary(rows.map { (Place($0), $0.values) }) { one, _ in one }
        let others = Dictionary(ours.rows.map { (Place($0), $0.values) }) { one, _ in one }
        result.definition.columns += ours.definition.columns.map { column in
            var column = column
            column.name = Self.ours + column.name
            column.source = .computed
            return column
        }
        let nothing = (definition.valuesOfNothing, ours.definition.valuesOfNothing)
        result.rows = Set(own.keys).union(others.keys).sorted().map { place in
            Row(
                period: place.period, currency: place.currency, part: place.part,
                values: (own[place] ?? nothing.0) + (others[place] ?? nothing.1))
        }
        return result
    }

    /// The key by which the rows of two reports about the same question are matched.
    private struct Place: Hashable, Comparable {
        var period: ReportPeriod
        var currency: String?
        var part: String?

        init(_ row: Row) { (period, currency, part) = (row.period, row.currency, row.part) }

        static func < (one: Self, other: Self) -> Bool {
            (one.period.days.lowerBound, one.currency ?? "", one.part ?? "")
                < (other.period.days.lowerBound, other.currency ?? "", other.part ?? "")
        }
    }
}

extension ReportDefinition {
    /// No cohort has more numbers than this.
    private static let cohortNumbersMax = 32

    fileprivate var valuesOfNothing: [ReportValue] {
        let nothing = PeriodTally(cohort: Array(repeating: 0, count: Self.cohortNumbersMax))
        return columns.map { $0.value(nothing) }
    }
}
