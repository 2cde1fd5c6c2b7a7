import PerennialContract

/// One line of a customer's purchases.
package struct PurchaseLine: Hashable, Sendable {
    package var productID: String
    /// How many purchases the line stands for: consumables of one product are one line.
    package var count: Int
    package var kind: Kind
    /// The state of the access. Nil for a purchase that gives no access by itself.
    package var state: AccessState?
    package var from: Timestamp
    package var until: Timestamp?
    package var graceUntil: Timestamp?
    package var revokedAt: Timestamp?
    /// The amount that was paid, after refunds. Nil if unknown.
    package var paid: Money?
    package var originalTransactionIDs: [String]
    /// Whether the line is a seat in another person's group. The customer has no transaction of
    /// such a seat.
    package var isSeat = false

    package enum Kind: Sendable { case subscription, term, kept, consumable }

    package init(
        productID: String, count: Int = 1, kind: Kind, state: AccessState? = nil,
        from: Timestamp, until: Timestamp? = nil, graceUntil: Timestamp? = nil,
        revokedAt: Timestamp? = nil, paid: Money? = nil, originalTransactionIDs: [String] = []
    ) {
        self.productID = productID
        self.count = count
        self.kind = kind
        self.state = state
        self.from = from
        self.until = until
        self.graceUntil = graceUntil
        self.revokedAt = revokedAt
        self.paid = paid
        self.originalTransactionIDs = originalTransactionIDs
    }

    /// The lines that can be made from the API's customer. They lack sums, and the transactions of
    /// one-time purchases, because the API's customer does not contain these.
    package static func lines(of customer: Customer) -> [PurchaseLine] {
        customer.subscriptions.map {
            var line = PurchaseLine(
                productID: $0.productID, kind: .subscription, state: $0.state,
                from: $0.period.from, until: $0.period.until, graceUntil: $0.graceUntil)
            line.isSeat = $0.seat != nil
            if !line.isSeat { line.originalTransactionIDs = [$0.originalTransactionID] }
            return line
        }
            + customer.nonRenewing.map {
                let isOver = $0.until.map { $0 <= customer.asOf } ?? false
                return PurchaseLine(
                    productID: $0.productID, kind: .term, state: isOver ? .expired : .paid,
                    from: $0.from, until: $0.until)
            }
            + customer.oneTime.map {
                PurchaseLine(
                    productID: $0.productID, kind: .kept,
                    state: $0.revokedAt == nil ? .owned : .refunded, from: $0.purchasedAt,
                    revokedAt: $0.revokedAt)
            }
    }

    // MARK: - Row

    func row(in frame: Frame) -> Markup {
        let times: Markup = count > 1 ? " <span class=\"muted\">× \(count)</span>" : ""
        return Table.row(
            .init("\(.bdi(productID))\(times)"),
            [
                .init(chip.markup, "r"), .init("\(period(in: frame))", "full"),
                .init(paid.map { "\(Figures.money($0))" } ?? "–", "num"),
                .init(transactions(in: frame), "r"),
            ])
    }

    private var chip: Chip {
        if let state { return Chip(state) }
        return kind == .consumable ? Chip("in the wallet", .plain) : Chip("unknown", .plain)
    }

    private func period(in frame: Frame) -> String {
        if let revokedAt {
            return "bought \(frame.day(from)), taken back \(frame.day(revokedAt))"
        }
        switch kind {
        case .kept, .consumable: return "bought \(frame.day(from))"
        case .subscription, .term:
            guard let until else { return "since \(frame.day(from))" }
            let grace = graceUntil.map { ", grace until \(frame.day($0))" } ?? ""
            return "\(frame.day(from)) to \(frame.day(until))\(grace)"
        }
    }

    private func transactions(in frame: Frame) -> Markup {
        switch originalTransactionIDs.count {
        case 0: isSeat ? "a seat of a group" : "–"
        case 1: DocumentLink.all(of: originalTransactionIDs[0], in: frame)
        default: "\(originalTransactionIDs.count) transactions"
        }
    }
}
