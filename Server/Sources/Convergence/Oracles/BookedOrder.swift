import Ledger
import Simulator

/// One order, and what was refunded of it.
struct BookedOrder: Hashable, CustomStringConvertible {
    let order: String
    private(set) var amount: Int64
    let currency: String
    var refunded: Int64

    /// Whether it is of several seats: then only what is left is compared. What came back for
    /// single seats is not known to the thousandth once the rest is refunded, too.
    private var isOfSeats = false

    var description: String { "\(order): \(amount) \(currency), \(refunded) given back" }

    /// What was given back of single seats counts as if it had not been charged: our price is the
    /// rest.
    init(_ charge: TrueCharge) {
        order =
            charge.webOrderLineItemID.map { Self.order($0, charge.at.milliseconds) }
            ?? charge.transactionID
        amount = charge.amount - charge.refundedForSeats
        currency = charge.currency
        refunded = charge.refunded - charge.refundedForSeats
        isOfSeats = charge.seats.map { $0 > 1 } ?? false
    }

    /// Seats that were added may have the line item of their period. They begin later.
    private static func order(_ line: String, _ from: Int64) -> String { "\(line) \(from)" }

    static func order(of payment: Payment) -> String {
        payment.line.map { order($0, payment.from.milliseconds) } ?? payment.transaction.rawValue
    }

    /// Returns nil if somebody else has paid, or no price was reported. Perhaps only a restored
    /// transaction of what was bought once is known.
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

    /// What can be compared of it.
    var comparable: Self {
        guard isOfSeats else { return self }
        var copy = self
        (copy.amount, copy.refunded, copy.isOfSeats) = (amount - refunded, 0, false)
        return copy
    }

    /// A copy without the refund. An upgrade's refund is reported by the old transaction, which
    /// some of Apple's documents do not contain: then it is unknown.
    func withoutRefund() -> Self {
        var copy = self
        copy.refunded = 0
        return copy
    }
}
