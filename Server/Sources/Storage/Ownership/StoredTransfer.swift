import Ledger

/// A change of the ownership of a purchase: it moved from one customer to another, it became shared
/// by both, or support confirmed its present owner.
package struct StoredTransfer: Hashable, Sendable {
    /// The number that identifies the transfer within the app. The number is greater than the
    /// numbers of all earlier transfers of the two customers.
    package var number: Int64
    package var purchase: PurchaseID
    package var kind: Kind
    /// The customer who had the purchase before; nil if the purchase had no owner.
    package var former: CustomerID?
    package var customer: CustomerID
    package var evidence: OwnershipClaim.Evidence
    /// The reason given by the person who requested the transfer; empty if a device caused it.
    package var reason: String
    package var at: Instant
    package var undoneAt: Instant?

    /// Whether the purchase did not change customers, because it was confirmed, or because the two
    /// customers have been merged since. A transfer without a change cannot be undone.
    package var stays: Bool { former == customer }

    package enum Kind: String, Hashable, Sendable {
        case moved
        case shared
    }
}

/// A block: no other customer may claim the purchase from its owner.
package struct PurchaseBlock: Hashable, Sendable {
    /// The reason given by the person who requested the block.
    package var reason: String
    package var since: Instant
}
