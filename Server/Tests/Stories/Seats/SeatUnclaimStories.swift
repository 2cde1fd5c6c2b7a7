import AppStoreFormats
import Engine
import Ledger
import Simulator
import Testing

@testable import Program

/// The App Store ends claims after a refund of seats. The App Store may send a notification that
/// names the claims, or none.
@Suite(.serialized) struct SeatUnclaimStories {
    private typealias Stage = SeatReportStage

    /// Runs a group of three members whose claims the App Store knows.
    private static func withMembers(
        on database: StoryDatabase, habits: JSON = [:],
        _ story: @escaping @Sendable (SeatReportStage, [String]) async throws -> Void
    ) async throws {
        try await SeatReportStage.with(4, on: database, habits: habits) { stage in
            for name in ["ben", "cleo", "dora"] { try await stage.join(name) }
            try await stage.tell()
            try await story(stage, try await stage.idsThere())
        }
    }

    @Test(arguments: StoryDatabase.allCases)
    func `a refund of seats ends the claims that the App Store names, and no others`(
        database: StoryDatabase
    ) async throws {
        try await Self.withMembers(on: database) { stage, ids in
            try await stage.refund(2)
            // Two seats are left. The App Store does not count the purchaser's seat.
            #expect(try await stage.claimsThere() == Array(ids.prefix(2)))
            #expect(try await stage.ends() == ["dora unclaimed"])
            #expect(try await stage.claims() == ["ben held reported", "cleo waiting reported"])
            try await stage.tell()
            #expect(try await stage.claimsThere() == Array(ids.prefix(2)))
        }
    }

    @Test(arguments: StoryDatabase.allCases)
    func `claims that are named in a notification end, and waiting members get their seats`(
        database: StoryDatabase
    ) async throws {
        try await Self.withMembers(on: database) { stage, ids in
            try await stage.refund(1)
            #expect(try await stage.open("ben", "cleo", "dora") == ["ben", "cleo"])
            #expect(try await stage.unclaim(Stage.ours([ids[0].uppercased()])) == 200)
            #expect(try await stage.open("ben", "cleo", "dora") == ["cleo", "dora"])
            // A notification with a new signature is the same notification.
            #expect(try await stage.unclaim(Stage.ours([ids[0].uppercased()])) == 200)
            #expect(try await stage.ends() == ["ben unclaimed"])
            #expect(try await stage.rows().map(\.state) == ["ended", "reported", "reported"])
        }
    }

    @Test(arguments: StoryDatabase.allCases)
    func `if the notification about claims comes before the refund, the seats change at the refund`(
        database: StoryDatabase
    ) async throws {
        try await Self.withMembers(on: database) { stage, ids in
            #expect(try await stage.unclaim(Stage.ours([ids[1]])) == 200)
            #expect(try await stage.group()["available"] == 1)
            try await stage.refund(1)
            #expect(try await stage.group()["available"] == 0)
            #expect(try await stage.open("ben", "cleo", "dora") == ["ben", "dora"])
        }
    }

    @Test(arguments: StoryDatabase.allCases)
    func `forged documents and documents about other apps end no claim`(
        database: StoryDatabase
    ) async throws {
        try await Self.withMembers(on: database) { stage, ids in
            let named: JSON = .array([.string(ids[0])])
            let other = "5b0b1d0e-6a5c-4c69-9a3e-0d6a3b1f0001"
            let table: [(info: JSON, status: Int)] = [
                (["bundleId": "com.example.dogs", "unclaimSeatIds": named], 422),
                (
                    [
                        "bundleId": .string(birds.settings.bundleID),
                        "environment": "Production", "unclaimSeatIds": named,
                    ], 200
                ),
                (["environment": "Production", "unclaimSeatIds": named], 200),
                // This document names no app, and one of its claims is not ours.
                (["unclaimSeatIds": [.string(ids[0]), .string(other)]], 200),
                (["unclaimSeatIds": []], 200), ([:], 200), (Stage.ours([other]), 200),
            ]
            for (number, row) in table.enumerated() {
                let status = try await stage.unclaim(row.info, id: "hostile-\(number)")
                #expect(status == row.status, "\(number)")
            }
            let forged = try await stage.unclaim(
                Stage.ours([ids[0]]), id: "forged", by: try SigningAuthority())
            #expect(forged == 422)
            #expect(try await stage.ends() == [])
            #expect(try await stage.open("ben", "cleo", "dora") == ["ben", "cleo", "dora"])
            // A document whose claims are all ours need not name the app.
            let alone: JSON = ["unclaimSeatIds": [.string(ids[0]), .string(ids[2])]]
            #expect(try await stage.unclaim(alone, id: "ours") == 200)
            #expect(try await stage.ends() == ["ben unclaimed", "dora unclaimed"])
        }
    }

    @Test(
        arguments: StoryDatabase.allCases, [true, false])
    func `if Apple ends a claim whose id is unknown, the claim ends when the id becomes known`(
        database: StoryDatabase, isBound: Bool
    ) async throws {
        try await SeatReportStage.with(4, on: database) { stage in
            try await stage.join("ben")
            try await stage.tell()
            try await stage.join("cleo")
            let lost = LostAnswers(1)
            try await stage.tell(by: try stage.engine(try stage.client(lost.answer)))
            let there = try await stage.claimsThere()
            #expect(there.count == 2)
            let info: JSON =
                isBound
                ? Stage.ours(there) : ["unclaimSeatIds": .array(there.map { .string($0) })]
            #expect(try await stage.unclaim(info) == 200)
            // If the document names the app, it applies to each claim separately.
            #expect(try await stage.ends() == (isBound ? ["ben unclaimed"] : []))
            try await stage.pass("PT10M")
            try await stage.tell()
            #expect(try await stage.ends() == ["ben unclaimed", "cleo unclaimed"])
            #expect(try await stage.rows().map(\.state) == ["ended", "ended"])
            let before = try await stage.ends()
            _ = try await stage.shop.engine.maintenance.rebuild(verifyOnly: false)
            #expect(try await stage.ends() == before)
        }
    }

    @Test(arguments: StoryDatabase.allCases)
    func `a verifying rebuild reports a missed end of a claim, and a full rebuild ends the claim`(
        database: StoryDatabase
    ) async throws {
        try await Self.withMembers(on: database) { stage, ids in
            #expect(try await stage.unclaim(Stage.ours([ids[1]])) == 200)
            // An earlier version, which did not understand the document, would have left this
            // state.
            try await stage.shop.database.write { connection in
                _ = try connection.run("DELETE FROM seat_unclaims", [])
                _ = try connection.run(
                    "UPDATE seat_claims SET ended_at_ms = NULL, cause = NULL, "
                        + "apple_state = 'reported' WHERE customer = 'cleo'", [])
            }
            #expect(try await stage.open("cleo") == ["cleo"])
            let found = try await stage.shop.engine.maintenance.rebuild(verifyOnly: true)
            #expect(found.differences == 1, "\(found.firstDifferences)")
            #expect(try await stage.open("cleo") == ["cleo"])
            _ = try await stage.shop.engine.maintenance.rebuild(verifyOnly: false)
            #expect(try await stage.open("ben", "cleo", "dora") == ["ben", "dora"])
        }
    }

    // MARK: - Changes without a notification

    @Test(arguments: StoryDatabase.allCases)
    func `claims that the App Store ended without a notification end at the next check`(
        database: StoryDatabase
    ) async throws {
        try await Self.withMembers(on: database, habits: ["unclaim_seats_lost": true]) {
            stage, ids in
            try await stage.pass("PT30M")
            try await stage.compare()
            #expect(try await stage.group()["apple"]?["available"] == 1)
            try await stage.refund(3)
            #expect(try await stage.ends() == [])
            #expect(try await stage.claimsThere() == [ids[0]])
            // The refund makes the check due.
            try await stage.compare()
            #expect(try await stage.ends() == ["cleo unclaimed", "dora unclaimed"])
            let apple = try #require(try await stage.group()["apple"])
            #expect(apple["seats"] == 1 && apple["available"] == 0 && apple["foreign"] == 0)
            #expect(apple["asked_at"]?.string != nil)
        }
    }

    @Test(arguments: StoryDatabase.allCases)
    func `a claim that Apple no longer lists ends at a check 11 minutes after the refund`(
        database: StoryDatabase
    ) async throws {
        try await Self.withMembers(on: database, habits: ["unclaim_seats_lost": true]) {
            stage, _ in
            try await stage.refund(3)
            try await stage.compare()
            #expect(try await stage.ends() == [])
            try await stage.pass("PT11M")
            try await stage.compare()
            #expect(try await stage.ends() == ["cleo unclaimed", "dora unclaimed"])
        }
    }

    @Test(arguments: StoryDatabase.allCases)
    func `claims made outside our server use up free seats, but take no seat from a member`(
        database: StoryDatabase
    ) async throws {
        try await SeatReportStage.with(4, on: database) { stage in
            let store = stage.shop.appStore
            var foreign: [String] = []
            for number in 1...3 {
                foreign.append(
                    try await store.claimSeat(
                        of: stage.original,
                        requestID: "5b0b1d0e-6a5c-4c69-9a3e-0d6a3b1f000\(number)", in: .sandbox))
            }
            for name in ["ben", "cleo"] { try await stage.join(name) }
            // The App Store has a seat for one of the two members.
            try await stage.tell()
            #expect(try await stage.claims() == ["ben held reported", "cleo held refused"])
            try await stage.compare()
            let group = try await stage.group()
            #expect(group["apple"]?["foreign"] == 3 && group["available"] == 0)
            #expect(try await stage.claims() == ["ben held reported", "cleo held refused"])
            #expect(try await stage.open("ben", "cleo") == ["ben", "cleo"])
            #expect(try await stage.claimsThere().count == 4)
            #expect(try await stage.joining("dora") == 409)
            for id in foreign {
                try await store.unclaimSeat(id, of: stage.original, in: .sandbox)
            }
            try await stage.does("cancel")
            try await stage.compare()
            #expect(try await stage.claims() == ["ben held reported", "cleo held reported"])
            #expect(try await stage.group()["apple"]?["foreign"] == 0)
            #expect(try await stage.joining("dora") == 201)
        }
    }

    @Test(arguments: StoryDatabase.allCases)
    func `if no seats were refunded, members stay even if the App Store does not list them`(
        database: StoryDatabase
    ) async throws {
        try await Self.withMembers(on: database) { stage, ids in
            for id in ids.prefix(2) {
                try await stage.shop.appStore.unclaimSeat(id, of: stage.original, in: .sandbox)
            }
            try await stage.pass("PT30M")
            try await stage.compare()
            #expect(try await stage.ends() == [])
            #expect(try await stage.open("ben", "cleo", "dora") == ["ben", "cleo", "dora"])
            #expect(
                try await stage.claims() == [
                    "ben held ended", "cleo held ended", "dora held reported",
                ])
        }
    }

    @Test(arguments: StoryDatabase.allCases)
    func `if Apple still counts a claim that our server has ended, the end is reported again`(
        database: StoryDatabase
    ) async throws {
        try await Self.withMembers(on: database) { stage, ids in
            // In this state, Apple has once refused the report that the claim ended.
            try await stage.shop.database.write { connection in
                _ = try connection.run(
                    "UPDATE seat_claims SET ended_at_ms = 1, cause = 'left', "
                        + "apple_state = 'ended' WHERE customer = 'ben'", [])
            }
            try await stage.pass("PT11M")
            try await stage.refund(1)
            try await stage.compare()
            #expect(try await stage.claimsThere() == Array(ids.suffix(2)))
        }
    }
}
