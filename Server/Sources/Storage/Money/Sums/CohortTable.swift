import Ledger
import Reports

/// Numbers of cohorts by day and by month, before they are written.
struct CohortTable {
    struct Key: Hashable {
        var environment: Environment
        var span: SumTable.Span
        /// The cell. Its day is the first day of the span.
        var cell: CohortCell
    }

    private var numbers: [Key: Int64] = [:]

    /// The rows to write, in the order of the table's key, so that neighbours are written one after
    /// the other.
    var rows: [(key: Key, number: Int64)] {
        numbers.filter { $0.value != 0 }.map { (key: $0.key, number: $0.value) }
            .sorted { $0.key.precedes($1.key) }
    }

    mutating func add(_ change: CohortChange, in environment: Environment) {
        for span in [SumTable.Span.day, .month] {
            var key = Key(environment: environment, span: span, cell: change.cell)
            key.cell.day = span.start(of: change.cell.day)
            numbers[key, default: 0] += change.number
        }
    }
}

extension CohortTable.Key {
    fileprivate func precedes(_ other: Self) -> Bool {
        if environment != other.environment {
            return environment.rawValue < other.environment.rawValue
        }
        if cell.cohort != other.cell.cohort {
            return cell.cohort.rawValue < other.cell.cohort.rawValue
        }
        if span != other.span { return span < other.span }
        return (cell.day, cell.beganDay, cell.currency, cell.place)
            < (other.cell.day, other.cell.beganDay, other.cell.currency, other.cell.place)
    }
}
