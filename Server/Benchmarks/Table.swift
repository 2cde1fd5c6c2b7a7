import Foundation

/// The lines of the table, in order.
enum Line: String, CaseIterable, Hashable, Sendable {
    case verifyKnown = "verify-known"
    case verifyNew = "verify-new"
    case notificationSQLite = "notification-sqlite"
    case notificationPostgres = "notification-postgres"
    case customer
    case commitSQLite = "commit-sqlite"
    case commitPostgres = "commit-postgres"
    case memory
    case start
    case disk
    case servers
    case population
    case populationSigned = "population-signed"

    var title: String {
        switch self {
        case .verifyKnown: "verify, chain known ÷ raw P-256"
        case .verifyNew: "verify, chain new ÷ 2 raw P-384 + 1 raw P-256"
        case .notificationSQLite: "notification in, SQLite: CPU ÷ raw P-256"
        case .notificationPostgres: "notification in, PostgreSQL: CPU ÷ raw P-256"
        case .customer: "GET customer: CPU ÷ constant route"
        case .commitSQLite: "group commit, SQLite: rows/s ÷ plain batch"
        case .commitPostgres: "group commit, PostgreSQL: rows/s ÷ COPY batch"
        case .memory: "resident memory, MiB"
        case .start: "start to /ready, full ÷ empty"
        case .disk: "disk per notification ÷ payload"
        case .servers: "two servers on one PostgreSQL: notifications/s ÷ one server"
        case .population: "simulator, 100,000 customers, 12 months: CPU seconds"
        case .populationSigned: "simulator, all documents signed ÷ raw P-256 signatures"
        }
    }

    var aim: Aim {
        switch self {
        case .verifyKnown: .atLeast(0.85)
        case .verifyNew: .atLeast(0.80)
        case .notificationSQLite: .atMost(4.5)
        case .notificationPostgres: .atMost(5.0)
        case .customer: .atMost(3.0)
        case .commitSQLite, .commitPostgres: .atLeast(0.7)
        case .memory: .atMost(200)
        case .start: .atMost(1.5)
        case .disk: .atMost(1.6)
        case .servers: .atLeast(0.9)
        case .population: .atMost(30)
        case .populationSigned: .atMost(1.3)
        }
    }
}

enum Aim: Hashable, Sendable {
    case atLeast(Double)
    case atMost(Double)

    func isMet(by value: Double) -> Bool {
        switch self {
        case .atLeast(let limit): value >= limit
        case .atMost(let limit): value <= limit
        }
    }

    var text: String {
        switch self {
        case .atLeast(let limit): "≥ \(Table.number(limit))"
        case .atMost(let limit): "≤ \(Table.number(limit))"
        }
    }
}

/// One measured line, with the absolute numbers behind it.
struct Measured: Sendable {
    var line: Line
    var value: Double
    /// The value that would result if only the minimum work of the chosen components were done,
    /// measured in the same run.
    var floor: Double?
    var behind: String
}

extension Measured {
    fileprivate var overFloor: Double? { floor.map { value / $0 } }
}

/// The table that is printed at the end.
struct Table {
    var results: [Measured]
    var isQuick: Bool

    static func number(_ value: Double) -> String {
        value >= 100 ? String(format: "%.0f", value) : String(format: "%.2f", value)
    }

    var text: String {
        let head = ["line", "measured", "aim", "", "floor", "÷ floor", "behind it"]
        let rows = Line.allCases.compactMap { line in results.first { $0.line == line } }.map {
            [
                $0.line.title, Self.number($0.value), $0.line.aim.text,
                $0.line.aim.isMet(by: $0.value) ? "met" : "missed",
                $0.floor.map(Self.number) ?? "", $0.overFloor.map(Self.number) ?? "", $0.behind,
            ]
        }
        let widths = head.indices.map { column in
            ([head] + rows).map { $0[column].count }.max() ?? 0
        }
        let rule = widths.map { String(repeating: "-", count: $0) }
        let lines = ([head, rule] + rows).map { Self.line($0, widths: widths) }
        let note = isQuick ? "\nQuick: small populations, few rounds; not for a record." : ""
        return lines.joined(separator: "\n") + note
    }

    private static func line(_ cells: [String], widths: [Int]) -> String {
        let padded = zip(cells, widths).map { cell, width in
            cell + String(repeating: " ", count: width - cell.count)
        }
        return "| " + padded.joined(separator: " | ") + " |"
    }
}
