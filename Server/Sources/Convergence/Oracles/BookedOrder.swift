import Ledger
import Simulator

/// One order, and how much of it was refunded.
struct BookedOrder: Hashable, CustomStringConvertible {
    let order: String
    private(set) var amount: Int64
    let currency: String
    var refunded: Int64

    /// Whether the order is for several seats. Of such an order only the remaining amount is
    /// compared: once the rest is refunded, too, the amounts of earlier refunds of single seats are
    /// no longer known to the thousandth.
    private var isOfSeats = false

    var description: String { "\(order): \(amount) \(currency), \(refunded) given back" }

    /// Refunds of single seats count as if those seats had not been charged, because our price is
    /// the price of the remaining seats.
    init(_ charge: TrueCharge) {
        order =
            charge.webOrderLineItemID.map { Self.order($0, charge.at.milliseconds) }
            ?? charge.transactionID
        amount = charge.amount - charge.refundedForSeats
        currency = charge.currency
        refunded = charge.refunded - charge.refundedForSeats
        isOfSeats = charge.seats.map { $0 > 1 } ?? false
    }

    /// The key of an order. The key includes the beginning, because added seats may have the same
    /// line item as their period, but begin later.
    private static func order(_ line: String, _ from: Int64) -> String { "\(line) \(from)" }

    static func order(of payment: Payment) -> String {
        payment.line.map { order($0, payment.from.milliseconds) } ?? payment.transaction.rawValue
    }

    /// Returns nil if somebody else has paid, or if no price was reported. A one-time purchase is
    /// identified by its original transaction, because perhaps only a restored transaction is
    /// known.
    init?(_ payment: Payment, of purchase: PurchaseID) {
        guard payment.ownership == .purchased, let price = payment.price else { return nil }
        let isOnce = payment.kind == .nonConsumable
        order = isOnce ? purchase.original.rawValue : Self.order(of: payment)
        amount = price.milliunits
        currency = price.currency
        let share = payment.revocation.map { $0.percentage ?? Percentage.whole } ?? 0
        refunded = price.milliunits * share / Percentage.whole
        isOfSeats = payment.seats != nil && payment.quantity > 1
    }

    /// The part that can be compared.
    var comparable: Self {
        guard isOfSeats else { return self }
        var copy = self
        (copy.amount, copy.refunded, copy.isOfSeats) = (amount - refunded, 0, false)
        return copy
    }

    /// Returns a copy without the refund. The refund of an upgrade is reported by the old
    /// transaction, which some of Apple's documents do not contain. Without the old transaction,
    /// the refund is unknown.
    func withoutRefund() -> Self {
        var copy = self
        copy.refunded = 0
        return copy
    }
}

extension BookedOrder {
    /// Removes the orders that both sets contain, if their amounts differ by no more than
    /// ``roundings(in:)``.
    static func removeRounded(
        _ theirs: inout Set<Self>, _ ours: inout Set<Self>, by roundings: [String: Int64]
    ) {
        for order in theirs {
            let most = roundings[order.order] ?? 0
            guard let match = ours.first(where: { order.isEqual(to: $0, within: most) })
            else { continue }
            theirs.remove(order)
            ours.remove(match)
        }
    }

    private func isEqual(to other: Self, within rounding: Int64) -> Bool {
        order == other.order && currency == other.currency && refunded == other.refunded
            && (-rounding...rounding).contains(other.amount - amount)
    }

    /// The number of thousandths by which the amounts of orders may differ. A document names the
    /// share of refunded seats in thousandths of a percent. Once the rest of the period is
    /// refunded, too, the document no longer names that share.
    static func roundings(in charges: [TrueCharge]) -> [String: Int64] {
        let rounded = charges.filter {
            $0.refundedForSeats > 0 && $0.refunded > $0.refundedForSeats
        }
        return Dictionary(
            rounded.map { charge in
                // Each seat may have been refunded by a different share.
                let seats = charge.refundedSeats ?? 1
                return (Self(charge).order, charge.amount / wholeShare * seats + seats)
            }, uniquingKeysWith: max)
    }

    /// The whole, 100 %, in the unit of a document's share.
    private static let wholeShare: Int64 = 100_000
}
