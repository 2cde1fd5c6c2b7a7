import Ledger

/// The newest document about a purchase that the devices of a customer have presented. The customer
/// owns or shares the purchase.
package struct PresentedDocument: Hashable, Sendable {
    package var signedAt: Instant
    /// Whether one of the presented documents was signed after the customer got the purchase, and
    /// was never presented by another customer before. A person who only has copies of other
    /// people's documents cannot present such a document.
    package var isConfirming: Bool

    /// - Parameter isConfirming: false for the document with which the customer gets the purchase.
    package init(signedAt: Instant, isConfirming: Bool = false) {
        self.signedAt = signedAt
        self.isConfirming = isConfirming
    }

    /// Returns the document to remember after another document was presented. Returns nil if the
    /// remembered document stays the same.
    ///
    /// - Parameters:
    ///   - isNew: whether no customer has presented the other document before.
    ///   - since: when the customer got the purchase. This time is by the server's clock, but the
    ///     time of a signature is by the App Store's clock. So a confirming document must have been
    ///     signed both after this time and after the remembered document.
    func after(
        showingOneSignedAt signedAt: Instant, isNew: Bool, since: Instant
    ) -> PresentedDocument? {
        guard signedAt > self.signedAt else { return nil }
        return PresentedDocument(
            signedAt: signedAt, isConfirming: isConfirming || isNew && signedAt > since)
    }
}

extension PresentedDocument? {
    /// The values of the columns `document_signed_at_ms` and `is_confirmed`.
    var values: [Value] {
        [.integer(self?.signedAt.milliseconds), .integer(self?.isConfirming == false ? 0 : 1)]
    }

    init(_ row: inout ColumnReader) throws(StorageFailure) {
        let (signedAt, isConfirming) = (try row.optionalInstant(), try row.flag())
        self = signedAt.map { PresentedDocument(signedAt: $0, isConfirming: isConfirming) }
    }
}
