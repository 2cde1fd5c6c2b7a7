import Ledger

/// A purchase that continues another one: the App Store has closed a chain of renewals, and has
/// opened a new one with an id of its own (Apple: `previousOriginalTransactionId`).
package struct Succession: Hashable, Sendable {
    package var from: PurchaseID
    package var to: PurchaseID

    package init(from: PurchaseID, to: PurchaseID) {
        self.from = from
        self.to = to
    }
}

extension OwnershipUpdates {
    /// Moves the members of a group, and the invited people, to the purchase that continues it.
    private func moveSeats(
        by succession: Succession, in app: AppID, at now: Instant
    ) throws(StorageFailure) {
        let (old, new) = (succession.from, succession.to)
        let claims = try tx.seatClaims.openClaims(on: old, in: app)
        let there = Set(try tx.seatClaims.openClaims(on: new, in: app).map(\.customer))
        try tx.seats.release(
            claims.filter { there.contains($0.customer) }, on: old, because: .joined, in: app,
            at: now)
        let (place, former) = (
            [Value.text(new.original.rawValue), .text(new.environment.rawValue)],
            [
                Value.text(app.rawValue), .text(old.environment.rawValue),
                .text(old.original.rawValue),
            ]
        )
        try connection.run(
            "UPDATE seat_invitations SET purchase = $1, environment = $2 "
                + "WHERE app = $3 AND environment = $4 AND purchase = $5", place + former)
        // The App Store has claims on the earlier purchase. The claims on this one are reported to
        // it.
        try connection.run(
            "UPDATE seat_claims SET purchase = $1, environment = $2, apple_state = 'due', "
                + "apple_claim = NULL, apple_asked_at_ms = NULL, apple_since_ms = $3, "
                + "due_at_ms = $4, attempts = 0, lease_until_ms = 0, lease_holder = NULL "
                + "WHERE app = $5 AND environment = $6 AND purchase = $7 AND ended_at_ms IS NULL",
            place + [.integer(now.milliseconds), .integer(now.milliseconds)] + former)
        guard !claims.isEmpty else { return }
        try tx.purchases.touch([old, new], in: app)
    }

    /// Links each purchase that continues another one to the customer who has that one, on the same
    /// evidence. The app posts nothing in this case, because nothing was bought. This includes a
    /// known customer who has the earlier purchase only by its account token.
    ///
    /// Does nothing if the new purchase has an owner already, or has an account token that differs
    /// from the old one's. If the old purchase has no owner yet, the next document about the new
    /// one links it.
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
