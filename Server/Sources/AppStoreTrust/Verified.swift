import AppStoreFormats

/// What Apple signed, checked: signature, certificates, their time, and that it is for one of our
/// apps. Only this module can make one, so whoever holds it need not ask again.
package struct Verified<Payload: Hashable & Sendable>: Hashable, Sendable {
    // The initializer is the synthesized one, thus internal: no other module can make one.
    package let payload: Payload
    /// Production or sandbox, nothing else.
    package let environment: StoreEnvironment
    /// When Apple signed it: `signedDate`, of app transactions and receipts the date of creation. A
    /// document within a notification that names no date of its own has the notification's. A
    /// transaction receipt names none: then it is the date of the purchase.
    package let signedAt: AppStoreDate
    /// Of a document within a notification, that of the notification.
    package let digest: DocumentDigest
}

/// What became of a document that asked for trust.
package enum Outcome<Payload: Hashable & Sendable>: Hashable, Sendable {
    case verified(Verified<Payload>)
    /// Never to be trusted: asking again gives the same answer.
    case refused(Refusal)
    /// Properly signed, but our clock disagrees: ask again later.
    case cannotTellNow(Uncertainty)
}

/// What became of a notification: as ``Outcome``, with the documents inside.
package enum NotificationOutcome: Hashable, Sendable {
    case verified(NotificationContents)
    case refused(Refusal)
    case cannotTellNow(Uncertainty)
}
