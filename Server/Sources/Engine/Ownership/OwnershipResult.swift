import Ledger
import Storage

/// Whose a purchase is, from the view of one customer.
package struct OwnershipResult: Hashable, Sendable {
    package var purchase: PurchaseID
    package var kind: Kind
    /// What the owner is. Nil if nobody owns it.
    package var owner: CustomerKind?

    package enum Kind: Hashable, Sendable {
        case theirs
        /// It belonged to nobody before this request.
        case linked
        /// It belonged to another customer before this request.
        case moved
        /// It belongs to another customer, and to this one, too.
        case shared
        /// It stays with another customer.
        case another(OwnershipClaim.Refusal)
        /// Nobody has it, and this customer does not get it.
        case refused(OwnershipClaim.Refusal)
    }
}

extension CustomerState {
    /// Whose each of the customer's purchases is. A consumable gives no access, so it is left out.
    /// A member does not learn which purchase pays for a seat.
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
