import Ledger
import Testing

@testable import Storage

/// Columns are read in the order of the query, and none may be left out.
@Suite struct ColumnReaderTests {
    private static let row = Row([.text("anna"), .integer(7), .null, .bytes([1, 2])])

    /// Returns the failure's text, or nil if there is none.
    private func failure<Read>(
        _ body: (inout ColumnReader) throws(StorageFailure) -> Read
    ) -> String? {
        do throws(StorageFailure) { _ = try Self.row.read(body) } catch { return "\(error)" }
        return nil
    }

    @Test func `columns are read in the order of the query`() throws {
        let read = try Self.row.read { row throws(StorageFailure) in
            (
                try row.customer(), try row.instant(), try row.optionalText(),
                try row.optionalBytes()
            )
        }
        #expect(read.0 == "anna" && read.1 == Instant(milliseconds: 7))
        #expect(read.2 == nil && read.3 == [1, 2])
    }

    @Test func `the remaining columns can be read at once`() throws {
        let rest = try Self.row.read { row throws(StorageFailure) in
            try row.skip(2)
            return row.rest()
        }
        #expect(rest == [.null, .bytes([1, 2])])
    }

    @Test func `a column that is left unread causes a failure`() {
        let text = failure { row throws(StorageFailure) in try row.text() }
        #expect(text?.contains("1 columns were read, but the row has 4") == true, "\(text ?? "")")
    }

    @Test func `a read past the last column causes a failure`() {
        let text = failure { row throws(StorageFailure) in
            _ = row.rest()
            return try row.integer()
        }
        #expect(
            text?.contains("column 4 is read, but the row has 4 columns") == true, "\(text ?? "")")
    }

    @Test func `reading a column as a wrong type fails, and the failure names the column`() {
        let text = failure { row throws(StorageFailure) in
            try row.skip()
            return try row.text()
        }
        #expect(text?.contains("column 1 holds") == true, "\(text ?? "")")
        #expect(text?.contains("expected text") == true)
        let null = failure { row throws(StorageFailure) in
            try row.skip(2)
            return try row.bytes()
        }
        #expect(null?.contains("expected bytes") == true, "\(null ?? "")")
    }
}
