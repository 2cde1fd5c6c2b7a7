import AppStoreFormats

/// The seats of a subscription in the ground truth.
package struct TrueSeats: Hashable, Sendable {
    /// The number of seats that are paid for and not refunded. 0 if the subscription gives no
    /// access.
    package let count: Int64
    /// The number of seats of the next period. Nil if no period follows.
    package let atRenewal: Int64?
    package let invitations: SeatInvitations
    /// Accounts that have a seat by Apple's invitation, in the order in which they joined.
    package let members: [String]
    /// Open claims of the app's server, oldest first.
    package let claims: [String]

    package var json: JSON {
        [
            "count": .integer(count), "at_renewal": atRenewal.map { .integer($0) } ?? .null,
            "invitations": .string(invitations.rawValue),
            "members": .array(members.map { .string($0) }),
            "claims": .array(claims.map { .string($0) }),
        ]
    }
}

/// A seat that an app's server has claimed for an account.
package struct TrueClaimedSeat: Hashable, Sendable {
    package let originalTransactionID: String
    package let productID: String
    package let claimID: String
    /// Whether the purchaser has access. Only then the member may have access, too.
    package let isOpen: Bool
    /// The position of the claim among the group's open claims, from 1. After a renewal with fewer
    /// seats, the position may be greater than the number of seats.
    package let rank: Int

    package var json: JSON {
        [
            "original_transaction_id": .string(originalTransactionID),
            "product_id": .string(productID), "claim_id": .string(claimID),
            "open": .bool(isOpen), "rank": .integer(Int64(rank)),
        ]
    }
}

extension TrueBooks {
    /// The seats of a subscription. Nil without a group, and for a subscription that another
    /// account pays for.
    func trueSeats(of chain: Subscription, at now: AppStoreDate) -> TrueSeats? {
        guard let group = chain.group, chain.sharedBy == nil else { return nil }
        let isOpen = chain.isOpen(at: now)
        let planned = chain.willRenew ? chain.plannedSeats : nil
        // The next period may have been charged before its beginning.
        let charged = chain.transactions.first {
            now < $0.purchased && $0.beginsPeriod && !$0.isUpgraded && $0.revocation == nil
        }
        return TrueSeats(
            count: isOpen ? chain.seats(at: now) : 0,
            atRenewal: charged.map { chain.seats(at: $0.purchased) } ?? planned,
            invitations: group.invitations,
            members: isOpen ? (world.sharings[chain.id]?.seated ?? []).map(\.name) : [],
            claims: chain.isOver ? [] : group.openClaims.map(\.id))
    }

    /// The seats that were claimed for an account, oldest subscription first.
    func claimedSeats(of account: Account, at now: AppStoreDate) -> [TrueClaimedSeat] {
        world.chainsWithClaims.sorted().compactMap { world.subscriptions[$0] }.filter {
            $0.account.environment == account.key.environment && !$0.isOver
        }.flatMap { chain -> [TrueClaimedSeat] in
            let open = chain.group?.openClaims ?? []
            return open.indices.filter { open[$0].appTransactionID == account.appTransactionID }
                .map { place in
                    TrueClaimedSeat(
                        originalTransactionID: chain.id, productID: chain.latest.product.id,
                        claimID: open[place].id, isOpen: chain.isOpen(at: now), rank: place + 1)
                }
        }
    }
}

extension Subscription {
    /// Whether the customer has access: within paid time or in the grace period.
    func isOpen(at now: AppStoreDate) -> Bool {
        if case .grace = phase { return true }
        return transactions.contains { $0.covers(now) }
    }
}
