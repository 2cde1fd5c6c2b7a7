import Ledger

/// The claims on seats that the App Store has ended, according to a notification (Apple:
/// `unclaimInfo`).
package struct SeatUnclaim: Hashable, Sendable {
    package var ids: [StoreSeatID]
    /// Whether it names the app.
    package var isBound: Bool
    /// Nil if it names none.
    package var environment: Environment?

    /// The maximum number of ids in one notification: the maximum number of open claims on one
    /// purchase.
    package static let idsMax = 10_000

    package init(ids: [StoreSeatID], isBound: Bool, environment: Environment?) {
        self.ids = ids
        self.isBound = isBound
        self.environment = environment
    }
}

// The ids stay stored, because the answer with the id of a claim may have been lost, or may arrive
// later than the notification.

extension SeatUpdates {
    /// Records and applies the notifications about ended claims among new documents.
    func recordUnclaims(_ attested: [DocumentWithFacts]) throws(StorageFailure) {
        for each in attested {
            guard let unclaim = each.seatUnclaim else { continue }
            try record(
                unclaim, from: each.document.id, in: each.document.app,
                at: each.document.receivedAt)
        }
    }

    /// Records the ids that a notification names, and ends the claims that it is about. Idempotent.
    /// Returns whether any id was not recorded before.
    @discardableResult
    package func record(
        _ unclaim: SeatUnclaim, from document: [UInt8], in app: AppID, at now: Instant
    ) throws(StorageFailure) -> Bool {
        let isNew = try connection.runEach(
            "INSERT INTO seat_unclaims (app, document, apple_claim, environment, is_bound) "
                + "VALUES ($1, $2, $3, $4, $5) "
                + "ON CONFLICT (app, document, apple_claim) DO NOTHING",
            Set(unclaim.ids).sorted().map {
                [
                    .text(app.rawValue), .bytes(document), .text($0.rawValue),
                    .text(unclaim.environment?.rawValue), .integer(unclaim.isBound ? 1 : 0),
                ]
            }
        ).contains { $0 > 0 }
        if isNew { try applyUnclaim(document, in: app, at: now) }
        return isNew
    }

    /// How many of the ids in a notification are not recorded.
    package func unrecordedCount(
        of unclaim: SeatUnclaim, from document: [UInt8], in app: AppID
    ) throws(StorageFailure) -> Int {
        let known = try connection.number(
            "SELECT count(*) FROM seat_unclaims WHERE app = $1 AND document = $2",
            [.text(app.rawValue), .bytes(document)])
        return Set(unclaim.ids).count - Int(known)
    }

    /// Applies notifications that contained an id before its claim was known.
    func applyUnclaims(
        naming id: StoreSeatID, in app: AppID, at now: Instant
    ) throws(StorageFailure) {
        try connection.eachRow(
            "SELECT document FROM seat_unclaims WHERE app = $1 AND apple_claim = $2 "
                + "ORDER BY document", [.text(app.rawValue), .text(id.rawValue)]
        ) { row throws(StorageFailure) in try applyUnclaim(try row.bytes(), in: app, at: now) }
    }

    /// Ends the claims of a notification, whatever their rank. A notification that does not name
    /// the app is applied only if each id is a claim of the app, and all are in one environment.
    private func applyUnclaim(
        _ document: [UInt8], in app: AppID, at now: Instant
    ) throws(StorageFailure) {
        let rows = try connection.rows(
            "SELECT apple_claim, environment, is_bound FROM seat_unclaims "
                + "WHERE app = $1 AND document = $2 ORDER BY apple_claim",
            [.text(app.rawValue), .bytes(document)]
        ) { row throws(StorageFailure) in
            (
                id: StoreSeatID(rawValue: try row.text()),
                environment: try row.optionalText().map(Environment.stored), isBound: try row.flag()
            )
        }
        guard let first = rows.first else { return }
        let environment = first.environment
        let ids = rows.map(\.id)
        var named = try tx.seatClaims.all(storedAs: ids, in: app)
        if !first.isBound {
            let isOurs = Set(named.compactMap(\.claim.report.storeID)).count == ids.count
            let places = Set(named.map(\.purchase.environment))
            guard isOurs, places.count == 1,
                environment == nil || places.contains(where: { $0 == environment })
            else { return }
        } else if let environment {
            named = named.filter { $0.purchase.environment == environment }
        }
        try releaseUnclaimed(named, by: .document(document), in: app, at: now)
    }

    /// Ends claims that the App Store has ended, and records that it has none of them. Idempotent.
    func releaseUnclaimed(
        _ named: [StoredSeatClaim], by cause: EventEntry.Cause, in app: AppID, at now: Instant
    ) throws(StorageFailure) {
        for (purchase, claims) in Dictionary(grouping: named, by: \.purchase)
            .sorted(by: { $0.key < $1.key })
        {
            try release(
                claims.map(\.claim).filter { $0.end == nil }.sorted { $0.precedes($1) },
                on: purchase, because: .unclaimed, in: app, by: cause, at: now)
        }
        try connection.runEach(
            "UPDATE seat_claims SET apple_state = 'ended', due_at_ms = NULL "
                + "WHERE app = $1 AND claim = $2 AND ended_at_ms IS NOT NULL",
            named.map { [.text(app.rawValue), .text($0.claim.id.rawValue)] })
    }
}
