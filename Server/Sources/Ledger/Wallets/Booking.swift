/// One change of a wallet that was requested: a debit or a manual credit. Unlike credits from
/// purchases, a booking is not based on a document.
package struct Booking: Hashable, Sendable {
    package var kind: Kind
    package var id: BookingID
    package var currency: CurrencyID
    /// The amount, greater than 0 for both kinds.
    package var amount: Int64
    package var reason: String
    package var at: Instant

    package enum Kind: Hashable, Sendable, CaseIterable {
        /// The customer has spent the amount, or support removed it.
        case debit
        /// Support, or the app's server, added the amount, without a purchase.
        case credit
    }

    package init(
        _ kind: Kind, id: BookingID, currency: CurrencyID, amount: Int64, reason: String,
        at: Instant
    ) {
        self.kind = kind
        self.id = id
        self.currency = currency
        self.amount = amount
        self.reason = reason
        self.at = at
    }

    /// The amount with its sign: negative for a debit.
    package var signedAmount: Int64 {
        switch kind {
        case .debit: -amount
        case .credit: amount
        }
    }
}

package struct BookingID: TextIdentifier {
    package let rawValue: String
    package init(rawValue: String) { self.rawValue = rawValue }
}
