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

extension DatabaseSession {
    /// The result of a claim whose verdict has been applied.
    func ownershipResult(
        of purchase: PurchaseID, after claim: OwnershipClaim, _ verdict: OwnershipClaim.Verdict,
        in app: AppID
    ) throws -> OwnershipResult {
        let claimant = CustomerKind(isAnonymous: claim.isClaimantAnonymous)
        var owner = claim.owner.map { CustomerKind(isAnonymous: $0.isAnonymous) }
        let kind: OwnershipResult.Kind
        switch verdict {
        case .alreadyTheirs where claim.owner?.customer == claim.claimant: kind = .theirs
        case .alreadyTheirs, .share, .shareInstead: kind = .shared
        case .link: (kind, owner) = (.linked, claimant)
        case .move: (kind, owner) = (.moved, claimant)
        case .refuse(let why):
            // Without an owner, it belongs to the customer whom its token names, if they are known.
            let named = try claim.named.flatMap { try customer(known: $0, in: app) }
            owner = owner ?? named.map { CustomerKind(isAnonymous: $0.isAnonymous) }
            kind = owner == nil ? .refused(why) : .another(why)
        }
        return OwnershipResult(purchase: purchase, kind: kind, owner: owner)
    }
}
