import Ledger
import Storage

/// The ownership of a purchase, as one customer sees it.
package struct OwnershipResult: Hashable, Sendable {
    package var purchase: PurchaseID
    package var kind: Kind
    /// The kind of owner. Nil if the purchase has no owner.
    package var owner: CustomerKind?

    package enum Kind: Hashable, Sendable {
        case theirs
        /// This customer has the purchase now. The purchase had no owner before this request.
        case linked
        /// This customer has the purchase now. The purchase belonged to another customer before
        /// this request.
        case moved
        /// This customer shares the purchase with another customer.
        case shared
        /// The purchase stays with another customer.
        case another(OwnershipClaim.Refusal)
        /// The purchase has no owner, and this customer does not get it.
        case refused(OwnershipClaim.Refusal)
    }
}

extension CustomerState {
    /// The ownership of each of the customer's purchases. Consumables are left out, because they
    /// give no access. A member does not learn which purchase pays for a seat.
    package var ownerships: [OwnershipResult] {
        purchases.filter { !$0.timeline.hasConsumables && $0.timeline.seat == nil }.map {
            purchase in
            OwnershipResult(
                purchase: purchase.timeline.purchase,
                kind: purchase.sharedBy == nil ? .theirs : .shared,
                owner: purchase.sharedBy ?? CustomerKind(isAnonymous: isAnonymous))
        }
    }
}
