import Ledger

/// How far a file has been imported.
package struct ImportPosition: Hashable, Sendable {
    /// The number of bytes of the file whose content is committed.
    package var bytesRead: Int64
    package var linesRead: Int64
    /// The number of rows that were imported.
    package var used: Int64
    /// The number of rows that were rejected, each with a line in the report.
    package var refused: Int64
    /// The length in bytes of the report about the rows that were read so far.
    package var reportBytes: Int64
    /// When the end of the file was reached. Nil if the import is not finished.
    package var endedAt: Instant?

    package init(
        bytesRead: Int64 = 0, linesRead: Int64 = 0, used: Int64 = 0, refused: Int64 = 0,
        reportBytes: Int64 = 0, endedAt: Instant? = nil
    ) {
        self.bytesRead = bytesRead
        self.linesRead = linesRead
        self.used = used
        self.refused = refused
        self.reportBytes = reportBytes
        self.endedAt = endedAt
    }
}

/// Identifies an import: the file, its kind, and the app.
package struct ImportKey: Hashable, Sendable {
    package var app: AppID
    package var kind: String
    /// A 32-byte digest that identifies the file.
    package var file: [UInt8]

    package init(app: AppID, kind: String, file: [UInt8]) {
        self.app = app
        self.kind = kind
        self.file = file
    }

    fileprivate var values: [Value] { [.text(app.rawValue), .text(kind), .bytes(file)] }
}

/// The progress of each import.
package struct ImportRows: RowGroup {
    package let tx: DatabaseSession

    /// How far an import has come. Returns nil if the import was never started.
    package func position(of key: ImportKey) throws(StorageFailure) -> ImportPosition? {
        try connection.firstRow(
            "SELECT bytes_read, lines_read, used, refused, report_bytes, ended_at_ms FROM imports "
                + "WHERE app = $1 AND kind = $2 AND file = $3", key.values
        ) { row throws(StorageFailure) in
            ImportPosition(
                bytesRead: try row.integer(), linesRead: try row.integer(),
                used: try row.integer(), refused: try row.integer(), reportBytes: try row.integer(),
                endedAt: try row.optionalInstant())
        }
    }

    package func save(
        _ position: ImportPosition, of key: ImportKey, at now: Instant
    ) throws(StorageFailure) {
        try connection.run(
            "INSERT INTO imports (app, kind, file, bytes_read, lines_read, used, refused, "
                + "report_bytes, changed_at_ms, ended_at_ms) "
                + "VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) "
                + "ON CONFLICT (app, kind, file) DO UPDATE SET bytes_read = excluded.bytes_read, "
                + "lines_read = excluded.lines_read, used = excluded.used, "
                + "refused = excluded.refused, report_bytes = excluded.report_bytes, "
                + "changed_at_ms = excluded.changed_at_ms, ended_at_ms = excluded.ended_at_ms",
            key.values + [
                .integer(position.bytesRead), .integer(position.linesRead),
                .integer(position.used), .integer(position.refused),
                .integer(position.reportBytes), .integer(now.milliseconds),
                .integer(position.endedAt?.milliseconds),
            ])
    }
}
