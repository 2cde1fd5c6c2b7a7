import Ledger
import Testing

@testable import Program

@Suite struct BucketPlanTests {
    private static let now = Instant("2026-11-30T12:00:00.000Z")!
    private static let keep = BackupRetention(days: 2, weeks: 0, months: 0)

    private static func name(_ hoursAgo: Int, _ ending: String = "") -> String {
        BackupFolder.name(at: now - .hours(hoursAgo)) + ending
    }

    struct Row: Sendable {
        var local: [Int]
        var remote: [Int]
        var uploads: [Int]
        var expired: [Int]
    }

    @Test(arguments: [
        Row(local: [], remote: [], uploads: [], expired: []),
        Row(local: [1, 25], remote: [], uploads: [1, 25], expired: []),
        Row(local: [1], remote: [25], uploads: [1], expired: []),
        // A folder that was lost deletes nothing.
        Row(local: [], remote: [1, 25], uploads: [], expired: []),
        // Only what the bucket has decides, and not what is about to be uploaded.
        Row(local: [1, 25], remote: [50, 75], uploads: [1, 25], expired: []),
        Row(local: [1, 25], remote: [1, 25, 50, 75], uploads: [], expired: [50, 75]),
        // What would be deleted at once is not uploaded.
        Row(local: [1, 25, 50], remote: [1, 25], uploads: [], expired: []),
        // The clock was ahead.
        Row(local: [-9], remote: [1, 25, -5], uploads: [-9], expired: []),
    ])
    func `each folder and bucket gives the expected uploads and deletions`(row: Row) {
        let remote = Set(row.remote.map { Self.name($0) })
        #expect(
            BucketPlan.uploads(
                local: row.local.map { Self.name($0) }, remote: remote, keep: Self.keep,
                at: Self.now) == row.uploads.map { Self.name($0) })
        #expect(
            BucketPlan.expired(among: remote, keep: Self.keep, at: Self.now)
                == Set(row.expired.map { Self.name($0) }))
    }

    @Test func `changes are deleted with their backup, or when the next backup is a week old`() {
        let keep = BackupRetention(days: 30, weeks: 0, months: 0)
        let day = 24
        let backups = Set(
            [1 * day, 6 * day, 8 * day, 9 * day, 40 * day].map { Self.name($0, ".age") })
        let folders = [1 * day, 6 * day, 8 * day, 9 * day, 20 * day, 40 * day]
            .map { Self.name($0, ".changes") }
        let expired = BucketPlan.expired(
            folders: folders + ["other", "other.changes"], backups: backups, keep: keep,
            at: Self.now)
        // Nobody can find the changes of 20 days ago, whose backup is missing.
        #expect(expired == [9 * day, 20 * day, 40 * day].map { Self.name($0, ".changes") })
    }
}
