import Ledger

/// A claim, and the purchase whose seat is claimed.
package struct StoredSeatClaim: Hashable, Sendable {
    package var claim: SeatClaim
    package var purchase: PurchaseID

    package init(_ claim: SeatClaim, on purchase: PurchaseID) {
        self.claim = claim
        self.purchase = purchase
    }
}

// Code that changes a claim emits an event about the purchase, or touches the purchase, so that the
// purchase's row in `purchases` changes, too. So if two transactions about the seats of one
// purchase overlap, even on two servers, the second transaction runs again, and then sees the
// changes that the first one has written.

/// Claims of customers on seats of a purchase.
package struct SeatClaimRows: RowGroup {
    package let tx: DatabaseSession

    // MARK: - Reading

    package func find(
        _ id: SeatClaimID, in app: AppID
    ) throws(StorageFailure) -> StoredSeatClaim? {
        try all(
            "app = $1 AND claim = $2", [.text(app.rawValue), .text(id.rawValue)]
        ).first
    }

    /// The open claims on seats of a purchase, in the order in which they get seats. Includes the
    /// claims that were made before the subscription ended and was bought again.
    package func openClaims(
        on purchase: PurchaseID, in app: AppID
    ) throws(StorageFailure) -> [SeatClaim] {
        try all(Self.openOnPurchase, PurchaseRows.key(of: purchase, in: app)).map(\.claim)
            .sorted { $0.precedes($1) }
    }

    /// The open claim of a customer on a seat of a purchase.
    package func openClaim(
        of customer: CustomerID, on purchase: PurchaseID, in app: AppID
    ) throws(StorageFailure) -> SeatClaim? {
        try all(
            Self.openOnPurchase + " AND customer = $4",
            PurchaseRows.key(of: purchase, in: app) + [.text(customer.rawValue)]
        ).first?.claim
    }

    /// The open claims of a customer, the oldest first.
    package func openClaims(
        of customer: CustomerID, in app: AppID, environment: Environment
    ) throws(StorageFailure) -> [StoredSeatClaim] {
        try all(
            "app = $1 AND customer = $2 AND environment = $3 AND ended_at_ms IS NULL",
            [.text(app.rawValue), .text(customer.rawValue), .text(environment.rawValue)]
        ).sorted { $0.claim.precedes($1.claim) }
    }

    /// The number of open claims on a purchase.
    ///
    /// - Parameters:
    ///   - begin: claims from before this time are over, although their rows are open.
    ///   - other: counts only claims that get a seat before this claim; nil counts all claims.
    package func count(
        on purchase: PurchaseID, since begin: Instant?, before other: SeatClaim? = nil,
        in app: AppID
    ) throws(StorageFailure) -> Int {
        let begin = begin ?? Instant(milliseconds: .min)
        var sql =
            "SELECT count(*) FROM seat_claims WHERE \(Self.openOnPurchase) "
            + "AND claimed_at_ms >= $4"
        var values = PurchaseRows.key(of: purchase, in: app) + [.integer(begin.milliseconds)]
        if let other {
            sql += " AND (claimed_at_ms, claim) < ($5, $6)"
            values += [.integer(other.claimedAt.milliseconds), .text(other.id.rawValue)]
        }
        return Int(try connection.number(sql, values))
    }

    /// The members of a purchase's group: the customers with an open claim.
    func members(
        of purchase: PurchaseID, in app: AppID
    ) throws(StorageFailure) -> [CustomerID] {
        try openClaims(on: purchase, in: app).map(\.customer)
    }

    static let openOnPurchase =
        "app = $1 AND environment = $2 AND purchase = $3 AND ended_at_ms IS NULL"

    func all(
        _ condition: String, _ values: [Value]
    ) throws(StorageFailure) -> [StoredSeatClaim] {
        try connection.rows(
            "SELECT \(Self.claimColumns) FROM seat_claims WHERE \(condition)", values,
            Self.seatClaim)
    }

    static let claimColumns =
        "claim, environment, purchase, customer, claimed_at_ms, ended_at_ms, cause, "
        + "apple_state, apple_claim, apple_asked_at_ms, apple_since_ms"

    /// Reads ``claimColumns``.
    static func seatClaim(_ row: inout ColumnReader) throws(StorageFailure) -> StoredSeatClaim {
        let (id, purchase) = (SeatClaimID(rawValue: try row.text()), try row.purchase())
        var claim = SeatClaim(
            id: id, customer: try row.customer(), claimedAt: try row.instant())
        let (endedAt, cause) = (try row.optionalInstant(), try row.optionalText())
        if let endedAt {
            guard let cause = cause.flatMap(SeatClaim.Cause.init(rawValue:)) else {
                throw StorageFailure("unknown end of a claim: use a newer version of Perennial")
            }
            claim.end = SeatClaim.End(cause, at: endedAt)
        }
        guard let state = SeatReport.State(rawValue: try row.text()) else {
            throw StorageFailure("unknown state of a claim: use a newer version of Perennial")
        }
        claim.report = SeatReport(
            state: state, storeID: try row.optionalText().map(StoreSeatID.init(rawValue:)),
            askedAt: try row.optionalInstant(), since: try row.instant())
        return StoredSeatClaim(claim, on: purchase)
    }

    /// The claims to which the App Store gave these ids.
    package func all(
        storedAs ids: [StoreSeatID], in app: AppID
    ) throws(StorageFailure) -> [StoredSeatClaim] {
        try connection.rowsEach(
            "SELECT \(Self.claimColumns) FROM seat_claims WHERE app = $1 AND apple_claim = $2",
            ids.map { [.text(app.rawValue), .text($0.rawValue)] }
        ).joined().read(Self.seatClaim)
    }
}

// MARK: - Writing

extension SeatClaimRows {
    /// Inserts an open claim, which is due to be reported to the App Store.
    package func insert(
        _ claim: SeatClaim, on purchase: PurchaseID, in app: AppID, at now: Instant
    ) throws(StorageFailure) {
        try connection.run(
            "INSERT INTO seat_claims (app, claim, environment, purchase, customer, claimed_at_ms, "
                + "apple_since_ms, due_at_ms) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
            [
                .text(app.rawValue), .text(claim.id.rawValue),
                .text(purchase.environment.rawValue), .text(purchase.original.rawValue),
                .text(claim.customer.rawValue), .integer(claim.claimedAt.milliseconds),
                .integer(claim.report.since.milliseconds), .integer(now.milliseconds),
            ])
    }

    /// Ends open claims. If the App Store may know a claim, the end of the claim becomes due to be
    /// reported, unless the App Store itself has ended the claim.
    package func markEnded(
        _ claims: [SeatClaim], because end: SeatClaim.Cause, in app: AppID, at now: Instant
    ) throws(StorageFailure) {
        try connection.runEach(
            "UPDATE seat_claims SET ended_at_ms = $1, cause = $2, apple_since_ms = $3, "
                + "due_at_ms = $4, attempts = 0, trouble = NULL WHERE app = $5 AND claim = $6",
            claims.map {
                [
                    .integer(now.milliseconds), .text(end.rawValue), .integer(now.milliseconds),
                    .integer(now.milliseconds), .text(app.rawValue), .text($0.id.rawValue),
                ]
            })
        let isUnknownThere = end == .unclaimed ? "" : " AND apple_asked_at_ms IS NULL"
        try connection.runEach(
            "UPDATE seat_claims SET apple_state = 'ended', due_at_ms = NULL "
                + "WHERE app = $1 AND claim = $2\(isUnknownThere)",
            claims.map { [.text(app.rawValue), .text($0.id.rawValue)] })
    }

    /// For the claims in this list that have ended, records that the App Store no longer has them.
    package func markEndedInStore(
        _ claims: [StoredSeatClaim], in app: AppID
    ) throws(StorageFailure) {
        try connection.runEach(
            "UPDATE seat_claims SET apple_state = 'ended', due_at_ms = NULL "
                + "WHERE app = $1 AND claim = $2 AND ended_at_ms IS NOT NULL",
            claims.map { [.text(app.rawValue), .text($0.claim.id.rawValue)] })
    }

    /// Gives the claims of a customer to another customer, or to the pseudonym of an erased
    /// customer.
    package func move(
        of other: CustomerID, to customer: CustomerID, in app: AppID
    ) throws(StorageFailure) {
        try connection.run(
            "UPDATE seat_claims SET customer = $1 WHERE app = $2 AND customer = $3",
            [.text(customer.rawValue), .text(app.rawValue), .text(other.rawValue)])
    }

    /// Moves the open claims of a purchase to the purchase that continues it. The App Store knows
    /// these claims as claims on the earlier purchase. So they become due to be reported again, for
    /// the later purchase.
    package func moveOpen(
        by succession: Succession, in app: AppID, at now: Instant
    ) throws(StorageFailure) {
        let (old, new) = (succession.from, succession.to)
        try connection.run(
            "UPDATE seat_claims SET purchase = $1, environment = $2, apple_state = 'due', "
                + "apple_claim = NULL, apple_asked_at_ms = NULL, apple_since_ms = $3, "
                + "due_at_ms = $4, attempts = 0, lease_until_ms = 0, lease_holder = NULL "
                + "WHERE app = $5 AND environment = $6 AND purchase = $7 AND ended_at_ms IS NULL",
            [
                .text(new.original.rawValue), .text(new.environment.rawValue),
                .integer(now.milliseconds), .integer(now.milliseconds),
            ] + PurchaseRows.key(of: old, in: app))
    }
}
