import Ledger
import Storage

/// A value of an exported row.
package enum ExportedValue: Hashable, Sendable {
    case none
    case number(Int64)
    case text(String)
}

extension ReportingService {
    /// Reads one of the tables for operators, some purchases at a time, and calls a closure with
    /// the values of each row.
    ///
    /// - Parameter since: leaves out rows from before this time: see ``ExportedTable/sinceColumn``.
    package func export(
        _ table: ExportedTable, of app: AppID, in environment: Environment, since: Instant?,
        _ body: ([ExportedValue]) throws -> Void
    ) async throws {
        _ = try self.context.app(app)
        var last: String? = ""
        while let begin = last {
            let (rows, end) = try await context.scanForReport { tx in
                try tx.sales.exportedRows(
                    of: table, in: app, environment, after: begin, since: since?.description)
            }
            for row in rows { try body(row.values.map(\.exported)) }
            last = end
        }
    }
}

extension Value {
    fileprivate var exported: ExportedValue {
        switch self {
        case .null: .none
        case .integer(let number): .number(number)
        case .text(let text): .text(text)
        case .bytes(let bytes): .text(Hexadecimal.text(bytes))
        }
    }
}
