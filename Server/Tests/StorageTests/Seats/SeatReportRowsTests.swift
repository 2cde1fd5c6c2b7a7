import Ledger
import Testing

@testable import Engine
@testable import Storage

/// Seat claims that are reported to the App Store.
@Suite struct SeatReportRowsTests {
    private static func leased(
        by holder: String, in store: Database
    ) async throws -> [LeasedSeatReport] {
        // Each lease expires at once, as if its server had stalled.
        let worker = CheckWorker(holder: holder, lease: .zero, checksPerSecond: 1)
        return try await store.transaction { tx in
            try tx.seatReports.lease(
                of: app, in: .production, dueBy: now + .days(1), limit: 9, for: worker)
        }
    }

    private static func complete(
        _ leased: LeasedSeatReport, _ answer: SeatReport.Answer, by holder: String,
        in store: Database
    ) async throws {
        try await store.transaction { tx in
            try SeatUpdates(tx).complete(
                leased, answer, trouble: nil, in: app, by: holder, nextComparison: now, at: now)
        }
    }

    private static func state(in store: Database) async throws -> SeatReport.State? {
        try await store.read { try $0.seatClaims.find("a", in: app)?.claim.report.state }
    }

    @Test(arguments: Driver.allCases)
    fileprivate func `after a lost lease, a reported success is recorded, but a refusal is not`(
        driver: Driver
    ) async throws {
        try await driver.withStore { store in
            let claim = SeatClaim(id: "a", customer: "ben", claimedAt: now)
            try await store.transaction { tx in
                try SeatUpdates(tx).insert(claim, on: purchase, in: app, at: now)
                try tx.seatReports.recordAsked(about: "a", in: app, at: now)
            }
            let first = try #require(try await Self.leased(by: "a", in: store).first)
            let second = try #require(try await Self.leased(by: "b", in: store).first)
            try await Self.complete(second, .claimed("s"), by: "b", in: store)
            try await Self.complete(first, .noSeat, by: "a", in: store)
            #expect(try await Self.state(in: store) == .reported)
            #expect(try await Self.leased(by: "a", in: store) == [])
            try await store.transaction { tx in
                try SeatUpdates(tx).release([claim], on: purchase, because: .left, in: app, at: now)
            }
            let third = try #require(try await Self.leased(by: "a", in: store).first)
            _ = try await Self.leased(by: "b", in: store)
            try await Self.complete(third, .unclaimed, by: "a", in: store)
            #expect(try await Self.state(in: store) == .ended)
            #expect(try await Self.leased(by: "b", in: store) == [])
        }
    }
}
