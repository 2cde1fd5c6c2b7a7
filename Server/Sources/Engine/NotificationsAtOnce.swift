import AppStoreFormats
import AppStoreTrust
import Ledger
import Storage

/// A notification that is verified, and not kept yet.
package struct VerifiedNotification: Sendable {
    fileprivate let attestation: Attestation

    /// The request's body, byte for byte as it came.
    package var body: [UInt8] {
        guard let payload = attestation.document.bytes else {
            preconditionFailure("A document that was packed did not come back whole.")
        }
        return NotificationBody.plain(payload)
    }
}

extension Engine {
    /// Verifies the body of a notification without waiting.
    ///
    /// Nil of all that ``record(notification:contentType:)`` is to take in, or to refuse with its
    /// words: what is not written as Apple does, or signed by a chain not seen before, or is not
    /// to be trusted, or is to be sent on to others.
    package func verifiedAtOnce(
        notification body: UnsafeRawBufferPointer
    ) -> VerifiedNotification? {
        guard let jws = NotificationBody.plainPayload(of: body).map(Array.init),
            let (app, verifier) = onlyApp ?? app(claimedWithKnownChainBy: jws),
            app.forwards.targets.isEmpty
        else { return nil }
        let receivedAt = now()
        let outcome = verifier.notificationAtOnce(
            jws, for: app.identity, at: AppStoreDate(receivedAt))
        guard case .verified(let contents) = outcome else { return nil }
        return VerifiedNotification(
            attestation: Attestation(
                notification: contents, jws,
                from: Attestation.Origin(
                    app: app, source: .notification, receivedAt: receivedAt, digests: digests)))
    }

    /// What nobody of ours could have signed is not looked into here.
    private func app(claimedWithKnownChainBy jws: [UInt8]) -> (AppSettings, Verifier)? {
        guard verifiers.values.contains(where: { $0.knowsChain(of: jws) }) else { return nil }
        return try? app(claimedBy: jws)
    }

    /// Keeps notifications by one durable transaction. When this returns, they are on disk.
    /// Harmless to repeat.
    ///
    /// Nil of each that could not be kept: ``record(notification:contentType:)`` says why.
    package func keep(_ notifications: [VerifiedNotification]) async -> [KeptNotification?] {
        let outcomes = await store.keep(notifications.map(\.attestation.kept))
        return zip(notifications, outcomes).map { notification, outcome in
            do {
                var kept = KeptNotification(notification.attestation.document)
                kept.isRepeat = try !outcome.get()
                writes.note()
                report(notification.attestation)
                lookUpProducts(of: notification.attestation)
                count(kept)
                return kept
            } catch {
                writes.note(error)
                return nil
            }
        }
    }
}
