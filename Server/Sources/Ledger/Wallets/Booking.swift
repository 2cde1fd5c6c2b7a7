/// One change of a wallet that somebody requested: a debit, or a credit by hand. Unlike what
/// purchases credit, it follows from no document.
package struct Booking: Hashable, Sendable {
    package var kind: Kind
    package var id: BookingID
    package var currency: CurrencyID
    /// Greater than 0, whichever kind it is.
    package var amount: Int64
    package var reason: String
    package var at: Instant

    package enum Kind: Hashable, Sendable, CaseIterable {
        /// The customer has spent it, or support took it out.
        case debit
        /// Support, or the app's server, added it. No purchase stands behind it.
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

    /// Negative for a debit.
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
