import AppStoreFormats
import AppStoreTrust
import Ledger
import Storage

/// A notification that has been recorded.
package struct RecordedNotification: Hashable, Sendable {
    package var app: AppID
    package var document: DocumentID
    /// Whether the notification was recorded before, because Apple sent it again.
    package var isRepeat: Bool
}

/// Records notifications, and the purchases that devices present.
package struct RecordingService: Sendable {
    let context: Context
    let forwarding: ForwardingService
    let verification: VerificationService
    let unlistedProducts = UnlistedProducts()

    /// The maximum size of a notification's body, in bytes. Apple's notifications have about 13,000
    /// bytes. Version 1 notifications contain a receipt and up to a hundred transactions.
    package static let notificationBytesMax = 1_048_576

    /// Records the body of a notification of version 2 or 1. When the function returns, the
    /// notification is on disk together with its forwards. If the app's policy is `any`, it is also
    /// possible that only another address has accepted the notification. Idempotent.
    ///
    /// - Parameter contentType: the value of the header, which is forwarded with the body.
    /// - Throws: ``EngineFailure``: `unreadable`, `limitExceeded`, `notForAnyApp` or `notTrusted`
    ///   if the notification can never be accepted; `notYetVerifiable`, `storage` or `notForwarded`
    ///   if it should be sent again.
    package func record(
        notification body: [UInt8], contentType: String? = nil
    ) async throws(EngineFailure) -> RecordedNotification {
        let arrived = ForwardingService.receivedNotification(body, contentType)
        do {
            switch try Self.contents(of: body) {
            case .signed(let payload): return try await record(notification: payload, arrived)
            case .v1(let json): return try await record(v1: json, arrived)
            }
        } catch {
            if case .notForwarded = error { throw error }
            context.counters.notificationsRefused.add()
            throw error
        }
    }

    private enum Contents {
        case signed([UInt8])
        case v1(JSON)
    }

    private static func contents(of body: [UInt8]) throws(EngineFailure) -> Contents {
        guard body.count <= notificationBytesMax else {
            throw .limitExceeded(what: "bytes of a notification", limit: notificationBytesMax)
        }
        if let payload = body.withUnsafeBytes({
            NotificationBody.plainPayload(of: $0).map(Array.init)
        }) {
            return .signed(payload)
        }
        let json: JSON
        do { json = try JSON(parsing: body) } catch {
            throw .unreadable("The body is not a JSON object: \(error).")
        }
        guard json.members != nil else { throw .unreadable("The body is not a JSON object.") }
        if let payload = json["signedPayload"]?.string { return .signed(Array(payload.utf8)) }
        if json["notification_type"]?.string != nil { return .v1(json) }
        throw .unreadable("The body must have signedPayload or notification_type.")
    }

    private func record(
        notification jws: [UInt8], _ arrived: ReceivedNotification
    ) async throws(EngineFailure) -> RecordedNotification {
        if let onlyApp = context.onlyApp {
            return try await record(notification: jws, of: onlyApp, arrived)
        }
        guard let claim = Verifier.peek(jws), claim.bundleID == nil else {
            return try await record(notification: jws, of: try context.app(claimedBy: jws), arrived)
        }
        // The notification names no app. The notification is recorded for each app that it can be
        // about. A later version of Perennial may know its meaning, and can then use it.
        var recorded: RecordedNotification?
        var refusal: EngineFailure?
        for id in context.appIDs {
            do throws(EngineFailure) {
                let done = try await record(notification: jws, of: try context.app(id), arrived)
                recorded = recorded ?? done
            } catch {
                guard case .notTrusted = error else { throw error }
                refusal = refusal ?? error
            }
        }
        if let recorded { return recorded }
        throw refusal ?? .notForAnyApp(found: nil, known: [])
    }

    private func record(
        notification jws: [UInt8], of app: (settings: AppSettings, verifier: Verifier),
        _ arrived: ReceivedNotification
    ) async throws(EngineFailure) -> RecordedNotification {
        let receivedAt = context.now()
        let outcome = await app.verifier.notification(
            jws, for: app.settings.identity, at: AppStoreDate(receivedAt))
        // If the notification claims a bundle ID that is not configured, a failure about the bundle
        // ID explains the rejection better.
        if case .refused = outcome, Verifier.peek(jws).map({ $0.bundleID != nil }) ?? true {
            _ = try self.context.app(claimedBy: jws)
        }
        let contents = try verification.trusted(outcome)
        return try await record(
            VerifiedDocument(
                notification: contents, jws,
                from: VerifiedDocument.Origin(
                    app: app.settings, source: .notification, receivedAt: receivedAt,
                    digests: context.digests)), arrived)
    }

    /// Records a notification of either version together with its forwards, and counts it.
    func record(
        _ attestation: VerifiedDocument, _ arrived: ReceivedNotification
    ) async throws(EngineFailure) -> RecordedNotification {
        verification.logShortcomings(attestation)
        logUnlistedProducts(of: attestation)
        let document = attestation.document
        var notification = RecordedNotification(document)
        var attested = attestation.documentWithFacts
        attested.forward = forwarding.order(for: arrived, document)
        do {
            notification.isRepeat = try await !context.db.record(
                attested, by: DocumentRecorder.recorder)
        } catch {
            guard attested.forward != nil, await forwarding.isAcceptedElsewhere(document, arrived)
            else {
                throw context.counted(error)
            }
            context.counters.add(databaseFailure: error)
            context.counters.notificationsAcceptedElsewhere.add()
            context.logger.error(
                "recording a notification failed; another address has accepted it",
                metadata: ["document": "\(notification.document)", "error": "\(error)"])
            return notification
        }
        count(notification)
        context.newestNotifications.record(document)
        if attested.forward != nil, context.apps[document.app]?.forwards.policy == .all {
            try await forwarding.requireAll(document, arrived)
        }
        return notification
    }
}

extension VerificationService {
    func trusted(_ outcome: NotificationOutcome) throws(EngineFailure) -> NotificationContents {
        switch outcome {
        case .verified(let contents): return contents
        case .refused(let refusal): throw .notTrusted(refusal)
        case .clockMismatch(let uncertainty): throw undecided(uncertainty)
        }
    }

    func trusted<Payload>(_ outcome: VerificationOutcome<Payload>) throws(EngineFailure)
        -> Verified<Payload>
    {
        switch outcome {
        case .verified(let verified): return verified
        case .refused(let refusal): throw .notTrusted(refusal)
        case .clockMismatch(let uncertainty): throw undecided(uncertainty)
        }
    }

    /// Counts a document that cannot be verified yet, so that the operator checks this machine's
    /// clock. Used for documents from all sources.
    private func undecided(_ uncertainty: ClockMismatch) -> EngineFailure {
        context.counters.documentsSignedAhead.add()
        return .notYetVerifiable(uncertainty)
    }
}

extension RecordingService {
    func count(_ notification: RecordedNotification) {
        (notification.isRepeat
            ? context.counters.notificationsRepeated : context.counters.notificationsRecorded)
            .add()
    }
}

extension VerificationService {
    func logShortcomings(_ attestation: VerifiedDocument) {
        for shortcoming in attestation.shortcomings {
            context.logger.warning(
                "a verified document was recorded that this version cannot read in full",
                metadata: [
                    "app": "\(attestation.document.app)",
                    "document": "\(DocumentID(bytes: attestation.document.id))",
                    "shortcoming": "\(shortcoming)",
                ])
        }
    }
}

extension RecordedNotification {
    init(_ document: StoredDocument) {
        app = document.app
        self.document = DocumentID(bytes: document.id)
        isRepeat = false
    }
}

extension DocumentID {
    package init(bytes: [UInt8]) {
        self.init(rawValue: Hexadecimal.text(bytes))
    }
}
