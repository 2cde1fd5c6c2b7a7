import Ledger

/// The newest document that the devices of a customer have shown of a purchase which they own or
/// share.
package struct PresentedDocument: Hashable, Sendable {
    package var signedAt: Instant
    /// Whether one was signed after the purchase became theirs, and nobody else had shown it
    /// before. Somebody who only has copies of what others show cannot show such a one.
    package var isConfirming: Bool

    /// - Parameter isConfirming: false for the document by which the purchase becomes theirs.
    package init(signedAt: Instant, isConfirming: Bool = false) {
        self.signedAt = signedAt
        self.isConfirming = isConfirming
    }

    /// Returns what is to be remembered after another document was shown. Returns nil if that says
    /// nothing new.
    ///
    /// - Parameters:
    ///   - isNew: whether nobody has shown the other document before.
    ///   - since: when the purchase became theirs. The times are by two clocks, so a confirming
    ///     document must have been signed after both.
    func after(
        showingOneSignedAt signedAt: Instant, isNew: Bool, since: Instant
    ) -> PresentedDocument? {
        guard signedAt > self.signedAt else { return nil }
        return PresentedDocument(
            signedAt: signedAt, isConfirming: isConfirming || isNew && signedAt > since)
    }
}

extension PresentedDocument? {
    /// The values of `document_signed_at_ms` and `is_confirmed`.
    var values: [Value] {
        [.integer(self?.signedAt.milliseconds), .integer(self?.isConfirming == false ? 0 : 1)]
    }

    init(_ row: inout ColumnReader) throws(StorageFailure) {
        let (signedAt, isConfirming) = (try row.optionalInstant(), try row.flag())
        self = signedAt.map { PresentedDocument(signedAt: $0, isConfirming: isConfirming) }
    }
}

// A document that is recorded on a snapshot reads none of this, so the purchase's row in
// `purchases` stays as it is: see `SnapshotConnection`.
extension DatabaseSession {
    /// Remembers the document that a device of a purchase's owner shows, if it is newer than those
    /// before. Idempotent.
    package func remember(
        documentSignedAt signedAt: Instant, isNew: Bool, of purchase: PurchaseID,
        ownedBy link: Link, in app: AppID
    ) throws(StorageFailure) {
        let first = PresentedDocument(signedAt: signedAt, isConfirming: true)
        let known = link.document
        guard
            let next = known == nil
                ? first
                : known?.after(showingOneSignedAt: signedAt, isNew: isNew, since: link.since)
        else { return }
        try connection.run(
            "UPDATE links SET document_signed_at_ms = $1, is_confirmed = $2 "
                + "WHERE app = $3 AND environment = $4 AND purchase = $5",
            PresentedDocument?.some(next).values + Self.key(of: purchase, in: app))
    }

    /// Remembers the document that a device of a customer shows who shares a purchase, if it is
    /// newer than those before. Idempotent.
    package func remember(
        documentSignedAt signedAt: Instant, isNew: Bool, of purchase: PurchaseID,
        sharedWith customer: CustomerID, in app: AppID
    ) throws(StorageFailure) {
        let key = Self.key(of: purchase, in: app) + [.text(customer.rawValue)]
        let share = try connection.firstRow(
            "SELECT since_ms, document_signed_at_ms, is_confirmed FROM shares "
                + "WHERE app = $1 AND environment = $2 AND purchase = $3 AND customer = $4", key
        ) { row throws(StorageFailure) in
            (since: try row.instant(), known: try PresentedDocument?(&row))
        }
        guard let (since, known) = share else { return }
        guard
            let next = (known ?? PresentedDocument(signedAt: since, isConfirming: true))
                .after(showingOneSignedAt: signedAt, isNew: isNew, since: since)
        else { return }
        try connection.run(
            "UPDATE shares SET document_signed_at_ms = $1, is_confirmed = $2 "
                + "WHERE app = $3 AND environment = $4 AND purchase = $5 AND customer = $6",
            PresentedDocument?.some(next).values + key)
    }
}
