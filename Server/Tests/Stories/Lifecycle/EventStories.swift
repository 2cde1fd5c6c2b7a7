import AppStoreFormats
import Engine
import Ledger
import Testing

@testable import Simulator

/// The events that each row of the table causes. Every story of a course also checks that the log
/// is complete and that its money adds up.
@Suite(.serialized) struct EventStories {
    /// The events by the number of the row in docs/lifecycle.md.
    private static let table = """
        1 purchased
        2 trial_started
        3 purchased renewed renewed renewed renewed
        4 purchased
        5 trial_started trial_converted
        6 purchased renewed
        7 purchased renewal_turned_off
        8 purchased renewal_turned_off renewal_turned_on
        9 purchased renewal_turned_off expired
        10 purchased billing_failed
        11 purchased billing_failed
        12 purchased billing_failed billing_recovered
        13 purchased billing_failed grace_ended
        14 purchased billing_failed grace_ended billing_recovered
        15 purchased billing_failed expired
        16 purchased billing_failed renewal_turned_off expired
        17 purchased upgraded
        18 purchased product_change_scheduled
        19 purchased product_change_scheduled product_change_cancelled
        20 purchased product_change_scheduled product_changed
        21 purchased upgraded
        22 purchased product_change_scheduled product_changed
        23 purchased refunded
        24 purchased refunded
        25 purchased renewal_turned_off refunded
        26 purchased renewal_turned_off
        27 purchased refunded refund_reversed
        28 purchased renewed refunded refund_reversed
        29 purchased extended
        30 purchased extended
        31 purchased price_increase_announced
        32 purchased price_increase_announced price_increase_agreed
        33 purchased price_increase_announced expired
        34 purchased price_increase_announced renewal_turned_off expired
        35 purchased price_increase_agreed
        36 purchased
        37 purchased offer_redeemed
        38 purchased upgraded
        39 purchased product_change_scheduled offer_redeemed
        40 purchased renewal_turned_off expired resubscribed
        41 purchased renewal_turned_off expired resubscribed
        42 purchased renewal_turned_off expired resubscribed
        43 purchased family_shared
        44 purchased family_shared renewed renewed refunded revoked
        45 purchased expired
        46 purchased expired
        47 purchased purchased purchased
        48 purchased family_shared refunded revoked
        49 purchased refunded refund_reversed
        50 purchased refunded
        51 purchased
        52 purchased
        53 purchased price_increase_agreed renewed
        54 purchased renewed renewed renewed
        55 purchased renewed commitment_renewal_turned_off renewed
        56 purchased billing_failed expired
        57 purchased
        """

    /// For commitments, the first few months are enough.
    private static let monthsShown = 4

    private static func kinds(of row: LifecycleRow) -> [String] {
        let lines = table.split(separator: "\n").map { $0.split(separator: " ").map(String.init) }
        return lines.first { $0.first == "\(row.rawValue)" }.map { Array($0.dropFirst()) } ?? []
    }

    @Test(arguments: Course.all)
    func `each row of the table in docs/lifecycle.md causes the expected events`(course: Course)
        async throws
    {
        let row = try #require(course.rows.first)
        try await DirectShop.open(course.set) { shop in
            var run = CourseRun(shop, token: CourseRun.token)
            try await run.play(course, aftermath: nil)
            let log = LogCheck(engine: shop.engine, app: DirectShop.app)
            var kinds = try await log.events().map(\.entry.change.kind.rawValue)
            if row == .commitmentMonth || row == .commitmentCancelled {
                kinds = Array(kinds.prefix(Self.monthsShown))
            }
            #expect(kinds == Self.kinds(of: row), "row \(row.rawValue)")
        }
    }

    @Test func `the last event of each subscription that ends has the right reason`() async throws {
        let endings: [LifecycleRow: Change.ExpirationReason] = [
            .expiredAfterCancelling: .cancelled, .retryExhausted: .billing,
            .cancelledInRetry: .cancelled, .priceRiseUnanswered: .priceNotAgreed,
            .priceRiseDeclined: .cancelled, .productNotForSale: .productUnavailable,
            .otherEnd: .other, .commitmentBillingFailed: .billing,
        ]
        var played: Set<LifecycleRow> = []
        for course in Course.all {
            guard let row = course.rows.first, let why = endings[row] else { continue }
            played.insert(row)
            try await DirectShop.open(course.set) { shop in
                var run = CourseRun(shop, token: CourseRun.token)
                try await run.play(course, aftermath: nil)
                let last = try await LogCheck(engine: shop.engine, app: DirectShop.app).events()
                    .last?.entry.change
                #expect(
                    last?.kind == .expired && last?.expirationReason == why, "row \(row.rawValue)")
            }
        }
        #expect(played == Set(endings.keys))
    }

    @Test(arguments: ["tiers.silver", "tiers.gold"])
    func `a purchase after a refund is a resubscription, not a renewal or upgrade`(
        product: String
    ) async throws {
        let course = Course(
            name: "back after a refund",
            steps: [
                .buys("tiers.silver"), .waits("P10D"), .does(.refund()), .waits("P2D"),
                .buys(product),
            ])
        try await DirectShop.open(course.set) { shop in
            var run = CourseRun(shop, token: CourseRun.token)
            try await run.play(course, aftermath: nil)
            let log = LogCheck(engine: shop.engine, app: DirectShop.app)
            let kinds = try await log.events().map(\.entry.change.kind)
            #expect(kinds == [.purchased, .refunded, .resubscribed])
        }
    }
}
