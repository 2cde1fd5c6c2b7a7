import Ledger

/// An id that occurs in the database.
package struct StoredID: Hashable, Sendable {
    /// Where the id is stored.
    package enum Place: CaseIterable, Hashable, Sendable {
        /// The id belongs to a customer.
        case customer
        /// The id is the account token of a purchase.
        case token
        /// An invitation reserves a seat for the id.
        case invitation
    }

    package var id: CustomerID
    /// The time since which the id is stored. Nil for a token, because a document that contains the
    /// token may arrive again at any time.
    package var since: Instant?
}

// A search for erased ids knows only their HMACs. So it must read all stored ids and compute their
// HMACs.
extension ErasedIDRows {
    /// The ids of an app that are stored in a place, in order. Returns only ids after the given id.
    package func ids(
        in place: StoredID.Place, of app: AppID, after last: String, limit: Int
    ) throws(StorageFailure) -> [StoredID] {
        try connection.rows(
            Self.selectIDs(in: place),
            [.text(app.rawValue), .text(last), .integer(Int64(limit))]
        ) { row throws(StorageFailure) in
            StoredID(
                id: try row.customer(),
                since: place == .token ? nil : Instant(milliseconds: try row.integer()))
        }
    }

    private static func selectIDs(in place: StoredID.Place) -> String {
        switch place {
        case .customer:
            "SELECT id, since_ms FROM customer_ids WHERE app = $1 AND id > $2 ORDER BY id LIMIT $3"
        case .token:
            "SELECT DISTINCT account_token FROM purchases WHERE app = $1 AND account_token > $2 "
                + "ORDER BY account_token LIMIT $3"
        case .invitation:
            "SELECT customer, min(created_at_ms) FROM seat_invitations "
                + "WHERE app = $1 AND customer > $2 GROUP BY customer ORDER BY customer LIMIT $3"
        }
    }
}
