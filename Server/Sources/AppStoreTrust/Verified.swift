import AppStoreFormats

/// A verified document of Apple's. This module has checked its signature, its certificates, their
/// validity, and the app that the document is for. Only this module can create a `Verified` value,
/// so its recipients need not check again.
package struct Verified<Payload: Hashable & Sendable>: Hashable, Sendable {
    // The synthesized initializer is internal: no other module can create a value.
    package let payload: Payload
    /// The environment of the document: production or sandbox, nothing else.
    package let environment: StoreEnvironment
    /// When Apple signed the document: `signedDate`, or the creation date for app transactions and
    /// receipts. A document without a date inside a notification has the notification's date. A
    /// transaction receipt has no such date, and counts as signed at the date of the purchase.
    package let signedAt: AppStoreDate
    /// The digest of the document, or of the notification that contains it.
    package let digest: DocumentDigest
}

/// The result of verifying a document.
package enum VerificationOutcome<Payload: Hashable & Sendable>: Hashable, Sendable {
    case verified(Verified<Payload>)
    /// The document can never be trusted: verifying again gives the same result.
    case refused(Refusal)
    /// The document is properly signed, but dated later than our clock: verify it again later.
    case clockMismatch(ClockMismatch)
}

/// The result of verifying a notification: as ``VerificationOutcome``, with the documents inside.
package enum NotificationOutcome: Hashable, Sendable {
    case verified(NotificationContents)
    case refused(Refusal)
    case clockMismatch(ClockMismatch)
}
