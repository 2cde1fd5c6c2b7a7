import Dice
import Ledger
import Testing

@testable import Program

/// Which backups are deleted.
@Suite struct BackupRetentionTests {
    struct Case: Sendable, CustomTestStringConvertible {
        var what: String
        var keep: BackupRetention
        /// The day and the hour of each backup, in the order in which the backups were made.
        var backups: [String]
        var now = "2026-12-31 23"
        var kept: [String]
        var testDescription: String { what }
    }

    private static func keep(_ days: Int, _ weeks: Int, _ months: Int) -> BackupRetention {
        var keep = BackupRetention()
        (keep.days, keep.weeks, keep.months) = (days, weeks, months)
        return keep
    }

    private static func moment(_ text: String) throws -> Instant {
        let parts = text.split(separator: " ")
        return try #require(Instant("\(parts[0])T\(parts[1]):00:00.000Z"))
    }

    @Test(arguments: [
        Case(what: "nothing", keep: keep(7, 5, 12), backups: [], kept: []),
        Case(
            what: "the last one of a day", keep: keep(2, 0, 0),
            backups: ["2026-11-01 02", "2026-11-01 14", "2026-11-02 02", "2026-11-02 14"],
            kept: ["2026-11-01 14", "2026-11-02 14"]),
        Case(
            what: "days without a backup do not count", keep: keep(2, 0, 0),
            backups: ["2020-01-01 00", "2024-01-01 00", "2026-11-02 14"],
            kept: ["2024-01-01 00", "2026-11-02 14"]),
        Case(
            what: "a week begins on Monday", keep: keep(1, 2, 0),
            backups: ["2026-11-20 00", "2026-11-22 23", "2026-11-23 00", "2026-11-29 00"],
            kept: ["2026-11-22 23", "2026-11-29 00"]),
        Case(
            what: "the last one of a month", keep: keep(1, 0, 3),
            backups: ["2025-12-31 23", "2026-01-31 01", "2026-02-01 00", "2026-02-28 00"],
            kept: ["2025-12-31 23", "2026-01-31 01", "2026-02-28 00"]),
        Case(
            what: "the year is a part of the month", keep: keep(1, 0, 2),
            backups: ["2025-02-10 00", "2026-02-10 00"],
            kept: ["2025-02-10 00", "2026-02-10 00"]),
        Case(
            what: "backups from after now take no place", keep: keep(1, 0, 0),
            backups: ["2040-01-01 00", "2040-01-02 00", "2026-11-01 00", "2026-11-02 00"],
            now: "2026-11-02 01", kept: ["2026-11-02 00", "2040-01-01 00", "2040-01-02 00"]),
        Case(
            what: "the last 24 hours", keep: keep(1, 0, 0),
            backups: ["2026-11-01 23", "2026-11-02 00", "2026-11-02 01", "2026-11-02 23"],
            now: "2026-11-03 00", kept: ["2026-11-02 01", "2026-11-02 23"]),
        Case(
            what: "if the clock goes back, the one just made and all later ones stay",
            keep: keep(1, 0, 0),
            backups: ["2026-11-01 00", "2026-11-02 00", "2019-12-31 00", "2020-01-01 00"],
            now: "2020-01-01 00",
            kept: ["2020-01-01 00", "2026-11-01 00", "2026-11-02 00"]),
        Case(
            what: "days, weeks and months together", keep: keep(2, 2, 2),
            backups: [
                "2026-09-30 00", "2026-10-30 00", "2026-11-14 00", "2026-11-15 00",
                "2026-11-20 00", "2026-11-21 00",
            ],
            kept: ["2026-10-30 00", "2026-11-15 00", "2026-11-20 00", "2026-11-21 00"]),
    ])
    func `a backup is kept if it is of the last 24 hours, or the last of a day, week or month`(
        row: Case
    ) throws {
        let backups = try row.backups.map(Self.moment)
        let expired = row.keep.expired(among: backups, at: try Self.moment(row.now))
        let kept = Set(backups).subtracting(expired)
        #expect(kept == Set(try row.kept.map(Self.moment)))
    }

    @Test
    func `the newest backup is always kept, and a repeated clean-up deletes no further backup`() {
        var dice = Dice(announcedBy: "BackupRetentionTests")
        for round in 0..<500 {
            let keep = Self.keep(
                Int.random(in: 1...5, using: &dice), Int.random(in: 0...5, using: &dice),
                Int.random(in: 0...5, using: &dice))
            let backups = (0..<Int.random(in: 1...60, using: &dice)).map { _ in
                Instant(milliseconds: Int64.random(in: 0...400_000_000, using: &dice) * 1000)
            }
            let now = Instant(
                milliseconds: Int64.random(in: 0...400_000_000, using: &dice) * 1000)
            let expired = Set(keep.expired(among: backups, at: now))
            let kept = Set(backups).subtracting(expired)
            let isKept = backups.filter { $0 <= now }.max().map(kept.contains) ?? true
            #expect(isKept && expired.allSatisfy { $0 <= now }, "round \(round)")
            let most = keep.days + keep.weeks + keep.months
            let older = kept.count { $0 <= now && now - $0 >= .hours(24) }
            #expect(older <= most, "round \(round)")
            #expect(keep.expired(among: Array(kept), at: now).isEmpty, "round \(round)")
        }
    }
}
