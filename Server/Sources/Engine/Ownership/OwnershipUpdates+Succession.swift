import Ledger
import Storage

extension OwnershipUpdates {
    /// Moves the members of a group, and the invited people, to the purchase that continues the
    /// group's purchase.
    private func moveSeats(
        by succession: Succession, in app: AppID, at now: Instant
    ) throws(StorageFailure) {
        let (old, new) = (succession.from, succession.to)
        let claims = try tx.seatClaims.openClaims(on: old, in: app)
        let there = Set(try tx.seatClaims.openClaims(on: new, in: app).map(\.customer))
        try SeatUpdates(tx).release(
            claims.filter { there.contains($0.customer) }, on: old, because: .joined, in: app,
            at: now)
        try tx.seatInvitations.move(by: succession, in: app)
        try tx.seatClaims.moveOpen(by: succession, in: app, at: now)
        guard !claims.isEmpty else { return }
        try tx.purchases.touch([old, new], in: app)
    }

    /// If a purchase continues an earlier purchase, links it to the customer who has the earlier
    /// purchase, on the same evidence. The app posts nothing in this case, because nothing was
    /// bought. The customer may also be a known customer who has the earlier purchase only because
    /// of its account token.
    ///
    /// Does nothing if the new purchase has an owner already, or if its account token differs from
    /// the account token of the old purchase. If the old purchase has no owner yet, the next
    /// document about the new purchase links it.
    func linkSuccessors(
        _ attested: [DocumentWithFacts], _ walletCache: inout WalletProjectionCache
    ) throws(StorageFailure) {
        for one in attested {
            guard let succession = one.succession else { continue }
            let (app, new) = (one.document.app, succession.to)
            try moveSeats(by: succession, in: app, at: one.document.receivedAt)
            guard try tx.links.find(of: new, in: app) == nil,
                let after = try tx.purchases.timeline(of: new, in: app)
            else { continue }
            let token = try tx.purchases.timeline(of: succession.from, in: app)?.accountToken
            if let now = after.accountToken, now != token { continue }
            let old = try tx.links.find(of: succession.from, in: app)
            guard let owner = try beneficiary(old?.customer, token: token, in: app) else {
                continue
            }
            try link(
                new, to: owner, by: old?.evidence ?? .token, document: old?.document, in: app,
                at: one.document.receivedAt, &walletCache)
        }
    }
}
