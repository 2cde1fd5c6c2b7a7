import Ledger

/// A claim with the purchase whose seat it is on.
package struct StoredSeatClaim: Hashable, Sendable {
    package var claim: SeatClaim
    package var purchase: PurchaseID

    package init(_ claim: SeatClaim, on purchase: PurchaseID) {
        self.claim = claim
        self.purchase = purchase
    }
}

// Code that changes a claim emits an event about the purchase, or touches it, so that its row in
// `purchases` changes, too. Of two transactions about the seats of one purchase, on any two
// servers, the second runs again, and then sees what the first has written.

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

    /// The open claims on seats of a purchase, in the order in which they get seats. Includes those
    /// from before the subscription was bought again.
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
    ///   - begin: earlier claims are over, although their rows are open.
    ///   - other: only those that get a seat before this claim; nil counts all.
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

    /// Reads the columns above.
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

    // MARK: - Writing
}

// MARK: - Customers who are merged or erased

extension SeatClaimRows {
    /// The claims that the App Store knows by some ids.
    func all(
        storedAs ids: [StoreSeatID], in app: AppID
    ) throws(StorageFailure) -> [StoredSeatClaim] {
        try connection.rowsEach(
            "SELECT \(Self.claimColumns) FROM seat_claims WHERE app = $1 AND apple_claim = $2",
            ids.map { [.text(app.rawValue), .text($0.rawValue)] }
        ).joined().read(Self.seatClaim)
    }
}
