import Ledger
import Reports

/// The table `money_transactions`: one row for each transaction of a purchase.
extension MoneyRows {
    private static let keyColumns = ["app", "environment", "purchase", "number"]
    private static let columns =
        ["transaction_id", "line"] + SegmentColumns.names + [
            "kind", "terms", "ownership", "quantity", "is_renewal", "from_ms", "until_ms",
            "ended_at_ms", "gross", "tax", "commission_rate", "commission", "refunded_at_ms",
            "refunded", "refunded_tax", "refunded_commission", "seats", "price_tiers",
            "revoked_seats",
        ]

    static let upsertTransaction =
        Insertion.statement(into: "money_transactions", keyColumns + columns)
        + " ON CONFLICT (\(keyColumns.joined(separator: ", "))) DO UPDATE SET "
        + columns.map { "\($0) = excluded.\($0)" }.joined(separator: ", ")

    static let selectTransactions =
        "SELECT \((keyColumns + columns).joined(separator: ", ")) FROM money_transactions "
        + "WHERE app = $1 AND environment = $2 AND purchase = $3 ORDER BY number"

    /// Deletes the transactions of a purchase that have the given number or a greater one.
    static let deleteTransactions =
        "DELETE FROM money_transactions WHERE app = $1 AND environment = $2 "
        + "AND purchase = $3 AND number >= $4"

    /// The values of ``upsertTransaction`` for each line that differs from the stored lines.
    ///
    /// - Parameter former: the lines that are stored; nil to write all lines.
    static func values(
        of lines: [TransactionLine], _ key: [Value], besides former: [TransactionLine]?
    ) -> [[Value]] {
        let changed = lines.enumerated().filter { index, line in
            guard let former, index < former.count else { return true }
            return former[index] != line
        }
        return changed.map { key + [.integer(Int64($0.offset))] + values(of: $0.element) }
    }

    private static func values(of line: TransactionLine) -> [Value] {
        [.text(line.transaction.rawValue), .text(line.line)]
            + SegmentColumns.values(of: line.segment) + [
                .text(line.kind.word), .text(line.terms.rawValue),
                .text(line.ownership.word), .integer(Int64(line.quantity)),
                .integer(line.isRenewal ? 1 : 0), .integer(line.from.milliseconds),
                .integer(line.until?.milliseconds), .integer(line.endedAt?.milliseconds),
                .integer(line.gross), .integer(line.tax), .integer(line.commissionRate),
                .integer(line.commission), .integer(line.refundedAt?.milliseconds),
                .integer(line.refunded), .integer(line.refundedTax),
                .integer(line.refundedCommission),
                .integer(line.seats.map { _ in Int64(line.quantity) }),
                .text(line.seats.flatMap(tiersText)),
                .integer(line.seats.map { Int64($0.refunded) }),
            ]
    }

    /// The tiers as JSON. Nil if the App Store does not report the price of each seat.
    private static func tiersText(_ seats: Seats) -> String? {
        guard !seats.tiers.isEmpty else { return nil }
        let tiers = seats.tiers.map {
            #"{"price_milliunits": \#($0.price), "seats": \#($0.count)}"#
        }
        return "[\(tiers.joined(separator: ", "))]"
    }
}

extension ProductKind {
    /// The kind that a word names. The kind is `unknown` if the word names no kind.
    init(word: String) { self = Self.allCases.first { $0.word == word } ?? .unknown }

    /// The name in rows that people read.
    fileprivate var word: String {
        switch self {
        case .autoRenewable: "auto_renewable"
        case .nonRenewing: "non_renewing"
        case .nonConsumable: "non_consumable"
        case .consumable: "consumable"
        case .unknown: "unknown"
        }
    }
}
