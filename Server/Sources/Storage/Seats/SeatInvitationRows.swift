import Ledger

/// An invitation with which one person can claim a seat of a purchase. The database contains only a
/// digest of the invitation's token.
package struct StoredInvitation: Hashable, Sendable {
    package var id: String
    package var purchase: PurchaseID
    /// The customer who may use the invitation. Nil if any customer who has the token may use it.
    package var customer: CustomerID?
    package var createdAt: Instant
    package var expiresAt: Instant
    package var usedAt: Instant?
    /// The claim for which the invitation was used. Nil if the invitation was not used.
    package var claim: SeatClaimID?
    package var withdrawnAt: Instant?

    package init(
        id: String, purchase: PurchaseID, customer: CustomerID? = nil, createdAt: Instant,
        expiresAt: Instant, usedAt: Instant? = nil, claim: SeatClaimID? = nil,
        withdrawnAt: Instant? = nil
    ) {
        self.id = id
        self.purchase = purchase
        self.customer = customer
        self.createdAt = createdAt
        self.expiresAt = expiresAt
        self.usedAt = usedAt
        self.claim = claim
        self.withdrawnAt = withdrawnAt
    }

    /// Whether the invitation can be used.
    package func isOpen(at now: Instant) -> Bool {
        usedAt == nil && withdrawnAt == nil && now < expiresAt
    }
}

/// Invitations to take a seat of a purchase.
package struct SeatInvitationRows: RowGroup {
    package let tx: DatabaseSession

    /// The maximum number of a purchase's invitations that stay stored after they were used or
    /// withdrawn, or have expired. Only the newest of them stay.
    package static let closedInvitationsMax = 1_000

    // MARK: - Reading

    /// - Parameter digest: the digest of the invitation's token: 32 bytes.
    package func find(
        digest: [UInt8], in app: AppID
    ) throws(StorageFailure) -> StoredInvitation? {
        try invitations("app = $1 AND digest = $2", [.text(app.rawValue), .bytes(digest)]).first
    }

    package func find(
        _ id: String, in app: AppID
    ) throws(StorageFailure) -> StoredInvitation? {
        try invitations("app = $1 AND invitation = $2", [.text(app.rawValue), .text(id)]).first
    }

    /// All stored invitations of a purchase, the newest first.
    package func all(
        of purchase: PurchaseID, in app: AppID
    ) throws(StorageFailure) -> [StoredInvitation] {
        try invitations(
            "app = $1 AND environment = $2 AND purchase = $3",
            PurchaseRows.key(of: purchase, in: app)
        ).sorted { ($0.createdAt, $0.id) > ($1.createdAt, $1.id) }
    }

    private func invitations(
        _ condition: String, _ values: [Value]
    ) throws(StorageFailure) -> [StoredInvitation] {
        try connection.rows(
            "SELECT invitation, environment, purchase, customer, created_at_ms, expires_at_ms, "
                + "used_at_ms, claim, withdrawn_at_ms FROM seat_invitations WHERE \(condition)",
            values
        ) { row throws(StorageFailure) in
            StoredInvitation(
                id: try row.text(), purchase: try row.purchase(),
                customer: try row.optionalCustomer(), createdAt: try row.instant(),
                expiresAt: try row.instant(), usedAt: try row.optionalInstant(),
                claim: try row.optionalText().map(SeatClaimID.init(rawValue:)),
                withdrawnAt: try row.optionalInstant())
        }
    }

    // MARK: - Writing

    /// Inserts an invitation. If too many invitations that can no longer be used are stored,
    /// deletes the oldest of these.
    package func insert(
        _ invitation: StoredInvitation, digest: [UInt8], in app: AppID
    ) throws(StorageFailure) {
        try tx.purchases.touch([invitation.purchase], in: app)
        let closed = try all(of: invitation.purchase, in: app)
            .filter { !$0.isOpen(at: invitation.createdAt) }
        try connection.runEach(
            "DELETE FROM seat_invitations WHERE app = $1 AND invitation = $2",
            closed.dropFirst(Self.closedInvitationsMax - 1).map {
                [.text(app.rawValue), .text($0.id)]
            })
        try connection.run(
            "INSERT INTO seat_invitations (app, invitation, digest, environment, purchase, "
                + "customer, created_at_ms, expires_at_ms) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
            [
                .text(app.rawValue), .text(invitation.id), .bytes(digest),
                .text(invitation.purchase.environment.rawValue),
                .text(invitation.purchase.original.rawValue), .text(invitation.customer?.rawValue),
                .integer(invitation.createdAt.milliseconds),
                .integer(invitation.expiresAt.milliseconds),
            ])
    }

    /// Records that an invitation was used for a claim.
    package func use(
        _ invitation: StoredInvitation, for claim: SeatClaimID, in app: AppID, at now: Instant
    ) throws(StorageFailure) {
        try connection.run(
            "UPDATE seat_invitations SET used_at_ms = $1, claim = $2 "
                + "WHERE app = $3 AND invitation = $4",
            [
                .integer(now.milliseconds), .text(claim.rawValue), .text(app.rawValue),
                .text(invitation.id),
            ])
    }

    package func withdraw(
        _ invitation: StoredInvitation, in app: AppID, at now: Instant
    ) throws(StorageFailure) {
        try tx.purchases.touch([invitation.purchase], in: app)
        try connection.run(
            "UPDATE seat_invitations SET withdrawn_at_ms = $1 "
                + "WHERE app = $2 AND invitation = $3",
            [.integer(now.milliseconds), .text(app.rawValue), .text(invitation.id)])
    }

    /// Withdraws the invitations of a purchase that loses its owner, because the owner made them.
    /// The claims stay.
    package func withdrawAll(
        of purchase: PurchaseID, in app: AppID, at now: Instant
    ) throws(StorageFailure) {
        try connection.run(
            "UPDATE seat_invitations SET withdrawn_at_ms = $1 WHERE app = $2 AND environment = $3 "
                + "AND purchase = $4 AND used_at_ms IS NULL AND withdrawn_at_ms IS NULL",
            [.integer(now.milliseconds)] + PurchaseRows.key(of: purchase, in: app))
    }

    /// Gives the invitations for a customer to another customer.
    package func move(
        of other: CustomerID, to customer: CustomerID, in app: AppID
    ) throws(StorageFailure) {
        try connection.run(
            "UPDATE seat_invitations SET customer = $1 WHERE app = $2 AND customer = $3",
            [.text(customer.rawValue), .text(app.rawValue), .text(other.rawValue)])
    }

    /// Moves the invitations of a purchase to the purchase that continues it.
    package func move(by succession: Succession, in app: AppID) throws(StorageFailure) {
        let (old, new) = (succession.from, succession.to)
        try connection.run(
            "UPDATE seat_invitations SET purchase = $1, environment = $2 "
                + "WHERE app = $3 AND environment = $4 AND purchase = $5",
            [.text(new.original.rawValue), .text(new.environment.rawValue)]
                + PurchaseRows.key(of: old, in: app))
    }

    /// Deletes the invitations of a purchase.
    package func delete(of purchase: PurchaseID, in app: AppID) throws(StorageFailure) {
        try connection.run(
            "DELETE FROM seat_invitations "
                + "WHERE app = $1 AND environment = $2 AND purchase = $3",
            PurchaseRows.key(of: purchase, in: app))
    }

    /// Whether there are invitations that only a customer with one of these ids can use, in either
    /// letter case.
    package func exist(naming ids: [CustomerID], in app: AppID) throws(StorageFailure) -> Bool {
        for name in Set(ids + ids.compactMap(\.inOtherCase)).sorted() {
            let known = try connection.rows(
                "SELECT invitation FROM seat_invitations WHERE app = $1 AND customer = $2 LIMIT 1",
                [.text(app.rawValue), .text(name.rawValue)])
            if !known.isEmpty { return true }
        }
        return false
    }

    /// Deletes the invitations that only a customer with one of these ids can use, in either letter
    /// case. Returns whether there were any.
    @discardableResult
    package func delete(
        naming ids: [CustomerID], in app: AppID
    ) throws(StorageFailure) -> Bool {
        let names = Set(ids + ids.compactMap(\.inOtherCase)).sorted()
        var found = false
        for name in names {
            let values: [Value] = [.text(app.rawValue), .text(name.rawValue)]
            let known = try connection.rows(
                "SELECT invitation FROM seat_invitations WHERE app = $1 AND customer = $2 LIMIT 1",
                values)
            guard !known.isEmpty else { continue }
            try connection.run(
                "DELETE FROM seat_invitations WHERE app = $1 AND customer = $2", values)
            found = true
        }
        return found
    }
}
