import Ledger

/// The details in a row of a vendor's export, besides the purchase. The details are not signed, so
/// they never affect access, ownership or money.
package struct ImportedDetails: Hashable, Sendable {
    /// What the vendor knows about the row's customer.
    package var attributes: [AttributeChange]
    /// When the vendor saw the customer for the first time.
    package var firstSeenAt: Instant?
    /// Where the row's transaction was sold.
    package var sale: Sale?

    /// The place in the app where a transaction was sold.
    package struct Sale: Hashable, Sendable {
        package var transaction: TransactionID
        package var placement: String

        package init(_ transaction: TransactionID, at placement: String) {
            (self.transaction, self.placement) = (transaction, placement)
        }
    }

    package init(
        attributes: [AttributeChange] = [], firstSeenAt: Instant? = nil, sale: Sale? = nil
    ) {
        self.attributes = attributes
        self.firstSeenAt = firstSeenAt
        self.sale = sale
    }

    package var isEmpty: Bool { attributes.isEmpty && firstSeenAt == nil && sale == nil }
}

/// An entitlement that a vendor has granted manually.
package struct ImportedGrant: Hashable, Sendable {
    package var entitlement: EntitlementID
    package var from: Instant
    /// When the grant ends by itself. Nil if it has no end.
    package var until: Instant?
    /// A text that is the same in every export that contains the grant, and different for every
    /// other grant of the app.
    package var key: String

    /// The note for people who review the grant later.
    static let reason = "Imported from RevenueCat."

    package init(
        _ entitlement: EntitlementID, from: Instant, until: Instant?, key: String
    ) {
        self.entitlement = entitlement
        self.from = from
        self.until = until
        self.key = key
    }
}
