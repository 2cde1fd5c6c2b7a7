import AppStoreFormats
import AppStoreTrust
import Intake
import Ledger
import Storage

extension Engine {
    /// Takes in a notification of version 1, once it has shown the secret of an app.
    func keep(
        v1 json: JSON, _ arrived: ArrivedNotification
    ) async throws(EngineFailure) -> KeptNotification {
        let (app, verifier) = try app(ofV1: json)
        try app.requireLegacy()
        let receivedAt = now()
        let origin = Attestation.Origin(
            app: app, source: .notification, receivedAt: receivedAt, digests: digests)
        let outcome = await verifier.notification(
            v1: json, for: app.identity, .secret(app.sharedSecret), at: AppStoreDate(receivedAt))
        let kept = Self.withoutSecret(arrived.body, json, app.sharedSecret)
        return try await keep(Self.attestation(try trusted(outcome), kept, origin), arrived)
    }

    /// One that was kept before.
    func attest(
        v1Again body: [UInt8], _ verifier: Verifier, _ origin: Attestation.Origin
    ) async throws(EngineFailure) -> Attestation {
        let json: JSON
        do { json = try JSON(parsing: body) } catch { throw .unreadable("\(error)") }
        let outcome = await verifier.notification(
            v1: json, for: origin.app.identity, .keptBefore, at: AppStoreDate(origin.receivedAt))
        return Self.attestation(try trusted(outcome), body, origin)
    }

    private static func attestation(
        _ contents: V1Contents, _ body: [UInt8], _ origin: Attestation.Origin
    ) -> Attestation {
        let told = contents.notification
        var attestation = Attestation(kind: .notificationV1, told, body, from: origin) {
            () throws(IntakeFailure) in
            try Intake.facts(
                of: told.payload, in: told.environment, attestedAt: told.signedAt,
                heardAt: AppStoreDate(origin.receivedAt),
                kinds: Intake.kinds(in: contents.appReceipt?.payload))
        }
        // Equal in every copy, so that a copy is known as one.
        attestation.document.signedAt = Instant(contents.latestMoment)
        if let receipt = contents.transactionReceipt {
            attestation.add { () throws(IntakeFailure) in
                try Intake.facts(
                    of: receipt.payload, in: receipt.environment, signedAt: receipt.signedAt)
            }
        }
        return attestation
    }

    private func trusted(_ outcome: V1Outcome) throws(EngineFailure) -> V1Contents {
        switch outcome {
        case .verified(let contents): return contents
        case .refused(let refusal): throw .notTrusted(refusal)
        }
    }

    /// The app that it names; where it names none, as in 2019 and 2020, the one whose secret it
    /// has. Where several apps have that secret, the receipt within tells them apart.
    private func app(ofV1 json: JSON) throws(EngineFailure) -> (AppSettings, Verifier) {
        let notification = V1Notification(json: json)
        let all = apps.values.sorted { $0.id < $1.id }
        let password = notification?.password ?? ""
        // Every secret is compared, so that time tells nothing.
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
        return try self.app(app.id)
    }

    /// What the receipt within claims, unverified: good for choosing the app alone.
    private static func bundleID(within notification: V1Notification?) -> String? {
        let text = notification?.unifiedReceipt?.latestReceipt
        return text.flatMap(ReceiptText.bytes).flatMap { Verifier.peek(receipt: $0) }
    }

    /// The body as it came, but for the secret: it is not ours to keep in every row. Where it
    /// cannot be cut out as it is written, all is written again without it.
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
    /// What stands before, between and after all places of some bytes.
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
