import Ledger
import Storage

package typealias ExportedTable = Storage.ExportedTable

extension Engine {
    /// Reads a table that owners read, some purchases at a time, and passes each row's values on as
    /// text; nil for a missing value.
    ///
    /// - Parameter since: leaves out rows that are earlier: see ``ExportedTable/sinceColumn``.
    package func export(
        _ table: ExportedTable, of app: AppID, in environment: Environment, since: Instant?,
        _ body: ([String?]) throws -> Void
    ) async throws {
        _ = try self.app(app)
        var last: String? = ""
        while let begin = last {
            let (rows, end) = try await read { tx in
                try tx.exportedRows(
                    of: table, in: app, environment, after: begin, since: since?.description)
            }
            for row in rows { try body(row.values.map(\.text)) }
            last = end
        }
    }
}

extension Value {
    fileprivate var text: String? {
        switch self {
        case .null: nil
        case .integer(let number): "\(number)"
        case .text(let text): text
        case .bytes(let bytes): Hexadecimal.text(bytes)
        }
    }
}
