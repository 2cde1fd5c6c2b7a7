import Ledger
import Reports

/// The table `money_subscriptions`: one row for each subscription.
extension MoneyRows {
    private static let keyColumns = ["app", "environment", "purchase"]
    private static let columns =
        ["transaction_id"] + SegmentColumns.names + [
            "ownership", "state", "until_ms", "changes_at_ms", "will_renew", "renews_to",
            "grace_until_ms", "period_from_ms", "period_until_ms", "first_paid_at_ms",
            "ended_because", "seats", "seats_at_renewal",
        ]

    private static let upsertSubscription =
        Insertion.statement(into: "money_subscriptions", keyColumns + columns)
        + " ON CONFLICT (\(keyColumns.joined(separator: ", "))) DO UPDATE SET "
        + columns.map { "\($0) = excluded.\($0)" }.joined(separator: ", ")

    static let selectSubscription =
        "SELECT \((keyColumns + columns).joined(separator: ", ")) FROM money_subscriptions "
        + "WHERE app = $1 AND environment = $2 AND purchase = $3"

    /// Writes the rows of purchases that are subscriptions.
    package func upsertSubscriptions(_ purchases: [ReportedPurchase]) throws(StorageFailure) {
        guard rules.writesMoney else { return }
        var written: [[Value]] = []
        var gone: [[Value]] = []
        for purchase in purchases {
            if let values = subscriptionValues(of: purchase) {
                written.append(values)
            } else if purchase.isSubscription {
                gone.append(PurchaseRows.key(of: purchase.timeline.purchase, in: purchase.app))
            }
        }
        try connection.runEach(Self.upsertSubscription, written)
        try connection.runEach(
            "DELETE FROM money_subscriptions WHERE app = $1 AND environment = $2 "
                + "AND purchase = $3", gone)
    }

    /// The values of ``upsertSubscription``; nil if the purchase is not a subscription.
    func subscriptionValues(of purchase: ReportedPurchase) -> [Value]? {
        SubscriptionLine(
            of: purchase.timeline, purchase.reportedState?.status,
            changesAt: purchase.nextTransitionAt(rules.access(of: purchase.app))
        ).map {
            PurchaseRows.key(of: purchase.timeline.purchase, in: purchase.app) + Self.values(of: $0)
        }
    }

    /// The values without `changes_at_ms`. That value depends on the configuration, and is written
    /// when the purchase changes.
    static func lasting(_ values: [Value]) -> [Value] {
        zip(keyColumns + columns, values).filter { $0.0 != "changes_at_ms" }.map(\.1)
    }

    private static func values(of line: SubscriptionLine) -> [Value] {
        [.text(line.transaction.rawValue)] + SegmentColumns.values(of: line.segment) + [
            .text(line.ownership.word), .text(line.state?.rawValue),
            .integer(line.until?.milliseconds), .integer(line.changesAt?.milliseconds),
            .integer(line.willRenew.map { $0 ? 1 : 0 }), .text(line.renewsTo?.rawValue),
            .integer(line.graceUntil?.milliseconds), .integer(line.periodFrom.milliseconds),
            .integer(line.periodUntil?.milliseconds), .integer(line.firstPaidAt?.milliseconds),
            .text(line.endedBecause), .integer(line.seats.map { Int64($0) }),
            .integer(line.seatsAtRenewal.map { Int64($0) }),
        ]
    }
}

extension ReportedPurchase {
    fileprivate var isSubscription: Bool {
        timeline.periods.contains { $0.payment.isSubscription }
    }
}
