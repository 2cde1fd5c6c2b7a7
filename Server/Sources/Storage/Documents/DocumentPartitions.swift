import Ledger

/// A calendar month in UTC, by which PostgreSQL partitions documents.
struct Month: Hashable, Sendable {
    /// The number of months since January of the year 0.
    private var number: Int64

    init(year: Int64, month: Int64) { number = year * 12 + month - 1 }

    init(containing instant: Instant) {
        // The description of an instant begins with its date, computed by the calendar in Ledger.
        let date = instant.description.split(separator: "T")[0].split(separator: "-")
        guard date.count == 3, let year = Int64(date[0]), let month = Int64(date[1]) else {
            preconditionFailure("Instants before the common era are not supported.")
        }
        self.init(year: year, month: month)
    }

    private var year: Int64 { number / 12 }
    private var month: Int64 { number % 12 + 1 }

    func adding(_ months: Int) -> Month {
        var result = self
        result.number += Int64(months)
        return result
    }

    /// The name of the partition for documents signed in this month: `documents_2026_11`.
    var tableName: String { "documents_\(year)_\(month < 10 ? "0" : "")\(month)" }

    /// The first instant of the month.
    var start: Instant {
        guard let first = WallClock.utc.midnight(year: year, month: month, day: 1) else {
            preconditionFailure("Every month has a first day.")
        }
        return first
    }
}

extension Database {
    /// The number of months before the present one for which documents still arrive: Apple retries
    /// notifications for days, and devices post old documents.
    private static let monthsBehind = 3
    private static let monthsAhead = 3
    private static let lockWait = "2s"

    /// Creates the partitions for the months around a time. Idempotent, and safe if several servers
    /// run it at once. The call must be repeated within three months. SQLite needs no partitions.
    ///
    /// The documents of a month stay in the default partition if that partition already contains
    /// some of them.
    package func createPartitions(around now: Instant) async throws {
        guard driver.dialect == .postgres else { return }
        let present = Month(containing: now)
        for offset in -Self.monthsBehind...Self.monthsAhead {
            let month = present.adding(offset)
            try await driver.write { try Self.createPartition(month, $0) }
        }
    }

    /// The maximum number of partitions that a copy creates: fifty years.
    private static let copiedPartitionsMax = 600
    /// The signing times, in milliseconds since 1970, for which a copy creates partitions: the
    /// years 2000 to 2199. Documents outside of this range go into the default partition.
    private static let partitionedTimes: ClosedRange<Int64> = 946_684_800_000...7_258_118_399_999

    /// Creates the partitions for documents that are about to be copied, by their signing times.
    ///
    /// - Parameter present: the months that have a partition; the months of new partitions are
    ///   added.
    func createPartitions(
        ofSigned moments: [Int64], but present: inout Set<Month>
    ) async throws {
        guard driver.dialect == .postgres else { return }
        let months = Set(
            moments.filter(Self.partitionedTimes.contains)
                .map { Month(containing: Instant(milliseconds: $0)) })
        for month in months.subtracting(present).prefix(Self.copiedPartitionsMax - present.count) {
            try await driver.write { try Self.createPartition(month, $0) }
            present.insert(month)
        }
    }

    private static func createPartition(
        _ month: Month, _ connection: any Connection
    ) throws(StorageFailure) {
        let (from, until) = (month.start.milliseconds, month.adding(1).start.milliseconds)
        let present = try connection.rows(
            "SELECT 1 FROM pg_tables WHERE schemaname = current_schema() AND tablename = $1",
            [.text(month.tableName)])
        guard present.isEmpty else { return }
        // Writers of documents wait behind this statement. This statement may have to wait, for
        // example for a backup. A day without a partition is better than a long wait of the
        // writers.
        try connection.run("SET LOCAL lock_timeout = '\(lockWait)'", [])
        let earlier = try connection.rows(
            "SELECT 1 FROM documents_other WHERE signed_at_ms >= $1 AND signed_at_ms < $2 LIMIT 1",
            [.integer(from), .integer(until)])
        guard earlier.isEmpty else { return }
        try connection.run(
            "CREATE TABLE IF NOT EXISTS \(month.tableName) PARTITION OF documents "
                + "FOR VALUES FROM (\(from)) TO (\(until))", [])
    }
}
