import AppStoreFormats
import AppStoreTrust
import Intake
import Ledger
import Storage

extension RecordingService {
    /// Records a version 1 notification that contains the secret of an app.
    func record(
        v1 json: JSON, _ arrived: ReceivedNotification
    ) async throws(EngineFailure) -> RecordedNotification {
        let (app, verifier) = try app(ofV1: json)
        try app.requireLegacy()
        let receivedAt = context.now()
        let origin = VerifiedDocument.Origin(
            app: app, source: .notification, receivedAt: receivedAt, digests: context.digests)
        let outcome = await verifier.notification(
            v1: json, for: app.identity, .secret(app.sharedSecret), at: AppStoreDate(receivedAt))
        let kept = VerificationService.withoutSecret(arrived.body, json, app.sharedSecret)
        return try await record(
            VerificationService.attestation(try verification.trusted(outcome), kept, origin),
            arrived)
    }
}

extension VerificationService {
    /// Verifies a version 1 notification that was recorded before.
    func verify(
        v1Again body: [UInt8], _ verifier: Verifier, _ origin: VerifiedDocument.Origin
    ) async throws(EngineFailure) -> VerifiedDocument {
        let json: JSON
        do { json = try JSON(parsing: body) } catch { throw .unreadable("\(error)") }
        let outcome = await verifier.notification(
            v1: json, for: origin.app.identity, .previouslyVerified,
            at: AppStoreDate(origin.receivedAt))
        return Self.attestation(try trusted(outcome), body, origin)
    }

    fileprivate static func attestation(
        _ contents: V1NotificationContents, _ body: [UInt8], _ origin: VerifiedDocument.Origin
    ) -> VerifiedDocument {
        let told = contents.notification
        var attestation = VerifiedDocument(kind: .notificationV1, told, body, from: origin) {
            () throws(IntakeFailure) in
            try Intake.facts(
                of: told.payload, in: told.environment, attestedAt: told.signedAt,
                receivedAt: AppStoreDate(origin.receivedAt),
                kinds: Intake.kinds(in: contents.appReceipt?.payload))
        }
        // The moment is the same in every copy of the notification, so that copies are recognised.
        attestation.document.signedAt = Instant(contents.latestMoment)
        if let receipt = contents.transactionReceipt {
            attestation.add { () throws(IntakeFailure) in
                try Intake.facts(
                    of: receipt.payload, in: receipt.environment, signedAt: receipt.signedAt)
            }
        }
        return attestation
    }

    fileprivate func trusted(_ outcome: V1NotificationOutcome) throws(EngineFailure)
        -> V1NotificationContents
    {
        switch outcome {
        case .verified(let contents): return contents
        case .refused(let refusal): throw .notTrusted(refusal)
        }
    }
}

extension RecordingService {
    /// The app that the notification names. If the notification names no app, as in 2019 and 2020,
    /// returns the app whose secret it contains. If several apps have that secret, the receipt in
    /// the notification decides.
    private func app(ofV1 json: JSON) throws(EngineFailure) -> (AppSettings, Verifier) {
        let notification = V1Notification(json: json)
        let all = context.apps.values.sorted { $0.id < $1.id }
        let password = notification?.password ?? ""
        // Every secret is compared, so that timing reveals nothing.
        let holders = all.map { $0.sharedSecret?.matches(password) ?? false }
        let candidates = zip(all, holders).filter(\.1).map(\.0)
        let claimed = notification?.claimedBundleID ?? Self.bundleID(within: notification)
        let named = claimed.flatMap { id in all.first { $0.bundleID == id } }
        if let claimed, named == nil {
            throw .notForAnyApp(found: claimed, known: all.map(\.bundleID).sorted())
        }
        let only = candidates.count == 1 ? candidates.first : nil
        guard let app = named ?? only ?? (all.count == 1 ? all.first : nil) else {
            throw .notForAnyApp(found: nil, known: all.map(\.bundleID).sorted())
        }
        return try self.context.app(app.id)
    }

    /// The bundle ID that the receipt in a notification claims. The id is not verified, and is used
    /// only to choose the app.
    private static func bundleID(within notification: V1Notification?) -> String? {
        let text = notification?.unifiedReceipt?.latestReceipt
        return text.flatMap(ReceiptText.bytes).flatMap { Verifier.peek(receipt: $0) }
    }
}

extension VerificationService {
    /// The original body without the secret, which must not be stored in every row. If the secret
    /// cannot be cut out of the text, the body is serialised again without it.
    static func withoutSecret(
        _ body: [UInt8], _ json: JSON, _ secret: AppSecret?
    ) -> [UInt8] {
        guard let secret else { return body }
        let quoted = Array("\"\(secret.text)\"".utf8)
        let parts = body.split(by: quoted)
        let cut = Array(parts.joined(separator: Array("\"\"".utf8)))
        let again = try? JSON(parsing: cut)
        if let again, again["password"]?.string ?? "" == "",
            V1Notification.identity(of: again) == V1Notification.identity(of: json)
        {
            return cut
        }
        return JSON.object((json.members ?? []).filter { $0.key != "password" }).bytes
    }
}

extension [UInt8] {
    /// The parts before, between and after all occurrences of a separator.
    fileprivate func split(by separator: [UInt8]) -> [ArraySlice<UInt8>] {
        var parts: [ArraySlice<UInt8>] = []
        var start = startIndex
        var index = startIndex
        while index + separator.count <= endIndex {
            if self[index] == separator[0], self[index...].starts(with: separator) {
                parts.append(self[start..<index])
                index += separator.count
                start = index
            } else {
                index += 1
            }
        }
        return parts + [self[start...]]
    }
}
