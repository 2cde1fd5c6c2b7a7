import Ledger

/// The claims on seats that the App Store has ended, according to a notification (Apple:
/// `unclaimInfo`).
package struct SeatUnclaim: Hashable, Sendable {
    package var ids: [StoreSeatID]
    /// Whether the notification names the app.
    package var isBound: Bool
    /// The environment that the notification names. Nil if the notification names none.
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

/// The ids in notifications about ended claims. The ids stay stored, because the App Store's answer
/// with the id of a claim may have been lost, or may arrive after the notification.
package struct SeatUnclaimRows: RowGroup {
    package let tx: DatabaseSession

    /// Records the ids that a notification names. Idempotent. Returns whether any id was not
    /// recorded before.
    package func insert(
        _ unclaim: SeatUnclaim, from document: [UInt8], in app: AppID
    ) throws(StorageFailure) -> Bool {
        try connection.runEach(
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

    /// The notifications that name an id, ordered by the document.
    package func documents(
        naming id: StoreSeatID, in app: AppID
    ) throws(StorageFailure) -> [[UInt8]] {
        try connection.rows(
            "SELECT document FROM seat_unclaims WHERE app = $1 AND apple_claim = $2 "
                + "ORDER BY document", [.text(app.rawValue), .text(id.rawValue)]
        ) { row throws(StorageFailure) in try row.bytes() }
    }

    /// The content of a recorded notification, with its ids in order. Returns nil if the
    /// notification is not recorded.
    package func find(
        _ document: [UInt8], in app: AppID
    ) throws(StorageFailure) -> SeatUnclaim? {
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
        return rows.first.map {
            SeatUnclaim(
                ids: rows.map(\.id), isBound: $0.isBound, environment: $0.environment)
        }
    }
}
