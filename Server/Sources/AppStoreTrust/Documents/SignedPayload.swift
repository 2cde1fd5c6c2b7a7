import AppStoreFormats

/// A payload that Apple signs on its own: it says when it was signed, and which app it is for.
protocol SignedPayload: WireObject {
    /// The payload's field that says when Apple signed it.
    static var signatureDateKey: String { get }
    var signatureDate: AppStoreDate? { get }

    /// Returns the payload's environment. Throws if the payload is for another app, or from an
    /// environment that is not accepted.
    func requireBinding(to app: AppIdentity) throws(Refusal) -> StoreEnvironment
}

extension SignedPayload {
    static var signatureDateKey: String { "signedDate" }

    init(reading payload: [UInt8]) throws(Refusal) {
        do throws(JSONFailure) {
            try self.init(parsing: payload)
        } catch {
            throw Refusal(
                .payloadUnreadable, expected: "a JSON object", found: "not readable (\(error))")
        }
    }
}

extension TransactionPayload: SignedPayload {
    var signatureDate: AppStoreDate? { signedDate }

    func requireBinding(to app: AppIdentity) throws(Refusal) -> StoreEnvironment {
        try app.requireBundle(bundleId)
        return try app.requireEnvironment(environment)
    }
}

extension RenewalPayload: SignedPayload {
    var signatureDate: AppStoreDate? { signedDate }

    func requireBinding(to app: AppIdentity) throws(Refusal) -> StoreEnvironment {
        try app.requireEnvironment(environment)
    }
}

extension AppTransactionPayload: SignedPayload {
    static var signatureDateKey: String { "receiptCreationDate" }
    var signatureDate: AppStoreDate? { receiptCreationDate }

    func requireBinding(to app: AppIdentity) throws(Refusal) -> StoreEnvironment {
        try app.requireBundle(bundleId)
        try app.requireAppleID(appAppleId, in: receiptType)
        return try app.requireEnvironment(receiptType)
    }
}

extension NotificationPayload: SignedPayload {
    var signatureDate: AppStoreDate? { signedDate }

    /// Returns the environment of the notification's parts. Apple sends one part. If there are ever
    /// two, each must be for this app and from the same environment. If no part names an
    /// environment, the app's usual environment counts. This does no harm: the notification is
    /// genuine, and a later version that knows its parts will read it again.
    func requireBinding(to app: AppIdentity) throws(Refusal) -> StoreEnvironment {
        var bound: StoreEnvironment?
        let parts = NotificationPart.all(of: self)
        // No other signed document of Apple has both fields.
        let isNotification = notificationType != nil && notificationUUID != nil
        guard isNotification || parts.contains(where: \.isDocumented) else {
            throw .missing(NotificationPart.names)
        }
        for part in parts {
            guard let environment = try part.requireBinding(to: app) else { continue }
            guard bound == nil || bound == environment else {
                throw Refusal(
                    .wrongEnvironment, expected: "the same in every part",
                    found: environment.rawValue)
            }
            bound = environment
        }
        return if let bound { bound } else { try app.usualEnvironment() }
    }
}
