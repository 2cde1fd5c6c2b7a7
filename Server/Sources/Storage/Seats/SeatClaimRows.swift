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

// Whoever changes a claim emits an event about the purchase, or touches it: so its row in
// `purchases` changes, too. Of two transactions about the seats of one purchase, on any two
// servers, the second is run again, and then sees what the first has written.

extension DatabaseSession {
    // MARK: - Reading

    package func seatClaim(
        _ id: SeatClaimID, in app: AppID
    ) throws(StorageFailure) -> StoredSeatClaim? {
        try seatClaims(
            "app = $1 AND claim = $2", [.text(app.rawValue), .text(id.rawValue)]
        ).first
    }

    /// The open claims on seats of a purchase, in the order in which they get seats. Includes those
    /// from before the subscription was bought anew.
    package func openSeatClaims(
        on purchase: PurchaseID, in app: AppID
    ) throws(StorageFailure) -> [SeatClaim] {
        try seatClaims(Self.openOnPurchase, Self.key(of: purchase, in: app)).map(\.claim)
            .sorted { $0.precedes($1) }
    }

    /// The open claim of a customer on a seat of a purchase.
    package func openSeatClaim(
        of customer: CustomerID, on purchase: PurchaseID, in app: AppID
    ) throws(StorageFailure) -> SeatClaim? {
        try seatClaims(
            Self.openOnPurchase + " AND customer = $4",
            Self.key(of: purchase, in: app) + [.text(customer.rawValue)]
        ).first?.claim
    }

    /// The open claims of a customer, the oldest first.
    package func openSeatClaims(
        of customer: CustomerID, in app: AppID, environment: Environment
    ) throws(StorageFailure) -> [StoredSeatClaim] {
        try seatClaims(
            "app = $1 AND customer = $2 AND environment = $3 AND ended_at_ms IS NULL",
            [.text(app.rawValue), .text(customer.rawValue), .text(environment.rawValue)]
        ).sorted { $0.claim.precedes($1.claim) }
    }

    /// The number of open claims on a purchase.
    ///
    /// - Parameters:
    ///   - begin: claims from before that are over, though their rows are open.
    ///   - other: only those that get a seat before this claim; nil counts all.
    package func seatClaimCount(
        on purchase: PurchaseID, since begin: Instant?, before other: SeatClaim? = nil,
        in app: AppID
    ) throws(StorageFailure) -> Int {
        let begin = begin ?? Instant(milliseconds: .min)
        var sql =
            "SELECT count(*) FROM seat_claims WHERE \(Self.openOnPurchase) "
            + "AND claimed_at_ms >= $4"
        var values = Self.key(of: purchase, in: app) + [.integer(begin.milliseconds)]
        if let other {
            sql += " AND (claimed_at_ms, claim) < ($5, $6)"
            values += [.integer(other.claimedAt.milliseconds), .text(other.id.rawValue)]
        }
        return Int(try connection.number(sql, values))
    }

    /// The members of a purchase's group: whoever has an open claim.
    func members(
        of purchase: PurchaseID, in app: AppID
    ) throws(StorageFailure) -> [CustomerID] {
        try openSeatClaims(on: purchase, in: app).map(\.customer)
    }

    static let openOnPurchase =
        "app = $1 AND environment = $2 AND purchase = $3 AND ended_at_ms IS NULL"

    func seatClaims(
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

    /// Begins a claim, which is due to be reported to the App Store, and emits an event. The caller
    /// must have checked that there is a seat, and that the customer has no open claim on the
    /// purchase.
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
        try emitSeatEvents(.seatClaimed, of: [claim], on: purchase, in: app, by: .request, at: now)
    }

    /// Ends open claims on seats of one purchase, and emits an event to each member. The App Store
    /// is told if it may know of the claim, unless it has ended the claim itself.
    ///
    /// - Parameter cause: of the events.
    package func release(
        _ claims: [SeatClaim], on purchase: PurchaseID, because end: SeatClaim.Cause,
        in app: AppID, by cause: EventEntry.Cause = .request, at now: Instant
    ) throws(StorageFailure) {
        guard !claims.isEmpty else { return }
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
        let ended = claims.map { claim in
            var claim = claim
            claim.end = SeatClaim.End(end, at: now)
            return claim
        }
        try emitSeatEvents(.seatReleased, of: ended, on: purchase, in: app, by: cause, at: now)
    }

    /// Ends the claims from before a subscription was bought anew. Call it when somebody else takes
    /// a seat, not when documents come: a document that comes later may say that it went on.
    /// Idempotent.
    package func releaseFormerSeats(
        on timeline: Timeline, in app: AppID, at now: Instant
    ) throws(StorageFailure) {
        guard timeline.seatsBegin != nil else { return }
        let former = try openSeatClaims(on: timeline.purchase, in: app)
            .filter { !timeline.isOpen($0) }
        try release(former, on: timeline.purchase, because: .boughtAgain, in: app, at: now)
    }

    /// Ends the claim of a customer who has the purchase itself now. Idempotent.
    func releaseSeat(
        ofOwner owner: CustomerID, on purchase: PurchaseID, in app: AppID, at now: Instant
    ) throws(StorageFailure) {
        guard let claim = try openSeatClaim(of: owner, on: purchase, in: app) else { return }
        try release([claim], on: purchase, because: .joined, in: app, at: now)
    }

    private func emitSeatEvents(
        _ kind: Change.Kind, of claims: [SeatClaim], on purchase: PurchaseID, in app: AppID,
        by cause: EventEntry.Cause, at now: Instant
    ) throws(StorageFailure) {
        try emitStatusNeutralEvents(
            claims.map { claim in
                var change = Change(kind, at: now, ownership: .assigned)
                change.seat = SeatChange(claim.id, cause: claim.end?.cause)
                return (change, claim.customer)
            }, of: purchase, in: app, by: cause, at: now)
    }
}

// MARK: - Customers who are merged or erased

extension DatabaseSession {
    /// Gives the claims of a merged customer to the one who remains. Of two open claims on one
    /// purchase the older one stays, and none stays on a purchase that they own. Call it after the
    /// links were moved.
    func mergeSeatClaims(
        of other: CustomerID, into customer: CustomerID, in app: AppID, at now: Instant
    ) throws(StorageFailure) {
        for environment in Environment.allCases {
            let theirs = try openSeatClaims(of: customer, in: app, environment: environment)
            let others = try openSeatClaims(of: other, in: app, environment: environment)
            for moved in others {
                guard let own = theirs.first(where: { $0.purchase == moved.purchase }) else {
                    continue
                }
                var later = moved.claim.precedes(own.claim) ? own.claim : moved.claim
                later.customer = customer
                try release([later], on: own.purchase, because: .joined, in: app, at: now)
            }
            try touch(others.map(\.purchase), in: app)
        }
        for table in ["seat_claims", "seat_invitations"] {
            try connection.run(
                "UPDATE \(table) SET customer = $1 WHERE app = $2 AND customer = $3",
                [.text(customer.rawValue), .text(app.rawValue), .text(other.rawValue)])
        }
        try releaseSeatsOfOwnPurchases(of: customer, in: app, at: now)
    }

    /// Ends the claims of a customer on purchases that are their own by now. Idempotent.
    func releaseSeatsOfOwnPurchases(
        of customer: CustomerID, in app: AppID, at now: Instant
    ) throws(StorageFailure) {
        for environment in Environment.allCases {
            for kept in try openSeatClaims(of: customer, in: app, environment: environment)
            where try beneficiary(of: kept.purchase, in: app) == customer {
                try release([kept.claim], on: kept.purchase, because: .joined, in: app, at: now)
            }
        }
    }

    /// Deletes the invitations that only these ids can use, in either letter case. Returns whether
    /// there were any.
    @discardableResult
    package func deleteInvitations(
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

    /// Ends the claims of a person who is erased, and the groups that they paid for. Their claims
    /// stay under a pseudonym. Call it while their purchases are linked.
    func eraseSeats(
        of person: StoredCustomer, under pseudonym: CustomerID, in app: AppID, at now: Instant
    ) throws(StorageFailure) {
        var paid = try purchases(of: person.customer, in: app)
        for environment in Environment.allCases {
            for own in try openSeatClaims(of: person.customer, in: app, environment: environment) {
                try release([own.claim], on: own.purchase, because: .erased, in: app, at: now)
            }
            paid += try timelinesByToken(person.ids, in: app, environment: environment)
                .map(\.purchase)
        }
        for purchase in paid {
            try release(
                try openSeatClaims(on: purchase, in: app), on: purchase, because: .erased, in: app,
                at: now)
            try connection.run(
                "DELETE FROM seat_invitations "
                    + "WHERE app = $1 AND environment = $2 AND purchase = $3",
                Self.key(of: purchase, in: app))
        }
        try deleteInvitations(naming: [person.customer] + person.ids, in: app)
        try connection.run(
            "UPDATE seat_claims SET customer = $1 WHERE app = $2 AND customer = $3",
            [
                .text(pseudonym.rawValue), .text(app.rawValue), .text(person.customer.rawValue),
            ])
    }
}
