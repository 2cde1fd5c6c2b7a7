import AppStoreFormats

/// A verified document of Apple's: its signature, its certificates and their validity, and that it
/// is for one of our apps. Only this module can create one, so its recipients need not check again.
package struct Verified<Payload: Hashable & Sendable>: Hashable, Sendable {
    // The synthesized initializer is internal: no other module can create a value.
    package let payload: Payload
    /// Production or sandbox, nothing else.
    package let environment: StoreEnvironment
    /// When Apple signed it: `signedDate`, or the creation date for app transactions and receipts.
    /// A document without a date inside a notification has the notification's date. A transaction
    /// receipt has none: then it is the date of the purchase.
    package let signedAt: AppStoreDate
    /// For a document within a notification, the digest of the notification.
    package let digest: DocumentDigest
}

/// The result of verifying a document.
package enum VerificationOutcome<Payload: Hashable & Sendable>: Hashable, Sendable {
    case verified(Verified<Payload>)
    /// Can never be trusted: verifying again gives the same result.
    case refused(Refusal)
    /// Properly signed, but dated later than our clock: verify again later.
    case clockMismatch(ClockMismatch)
}

/// The result of verifying a notification: as ``VerificationOutcome``, with the documents inside.
package enum NotificationOutcome: Hashable, Sendable {
    case verified(NotificationContents)
    case refused(Refusal)
    case clockMismatch(ClockMismatch)
}
