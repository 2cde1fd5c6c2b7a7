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
