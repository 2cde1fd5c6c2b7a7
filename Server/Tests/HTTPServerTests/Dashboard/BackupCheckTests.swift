import Ledger
import PerennialContract
import Testing

@testable import HTTPServer

/// The line about backups on the page Health.
@Suite struct BackupCheckTests {
    private static func state(_ change: (inout BackupState) -> Void) -> BackupState {
        var state = BackupState()
        (state.newestAt, state.age) = (TestServer.now, .hours(2))
        (state.bytes, state.files) = (5 << 20, 3)
        change(&state)
        return state
    }

    static let rows: [(state: BackupState?, says: [String])] = [
        (nil, []),
        (
            state { _ in },
            ["The newest is from 2026-11-21 08:00 UTC, with 5 MiB. 3 backups are kept."]
        ),
        (state { $0.overdue = .seconds(3599) }, ["The newest is from"]),
        (
            state { $0.overdue = .hours(1) },
            [
                "One has been due for an hour or longer. The newest is from",
                "the log of this server",
            ]
        ),
        (
            state { $0.problem = .init("No room.", remedy: "Make room.") },
            ["No room. The newest is from", "Make room."]
        ),
        (BackupState(), ["There is no backup yet."]),
        (
            state { $0.changesLag = .seconds(59) },
            ["Changes after backups", "They are shipped every second."]
        ),
        (
            state { $0.changesLag = .seconds(121) },
            ["They were last shipped 2 minutes ago.", "the log of this server"]
        ),
        (
            state {
                $0.changesLag = .seconds(60)
                $0.changesProblem = .init("No room.", remedy: "Make room.")
            }, ["They were last shipped 1 minute ago. No room.", "Make room."]
        ),
        (
            state { $0.bucketLag = .seconds(3599) },
            ["Bucket of the backups", "Everything is uploaded."]
        ),
        (
            state { ($0.changesLag, $0.bucketLag) = (.seconds(1), .seconds(120)) },
            ["It was last up to date 2 minutes ago.", "If a large backup is being uploaded, wait."]
        ),
        (
            state {
                $0.bucketLag = .seconds(60)
                $0.bucketProblem = .init("No key.", remedy: "Set a key.")
            }, ["It was last up to date 1 minute ago. No key.", "Set a key."]
        ),
    ]

    @Test(arguments: rows.indices)
    func `the health page shows the newest backup, and says why a backup failed`(row: Int)
        async throws
    {
        let (state, says) = Self.rows[row]
        try await DashboardServer.run(backup: state) { server in
            let page = try await server.get("/checks").text
            #expect(page.contains("<bdi>Backups</bdi>") == (state != nil))
            for text in says { #expect(page.contains(text), "\(page)") }
        }
    }
}
