import AppStoreFormats
import AppStoreTrust
import Signing

/// The app that all tests use, and documents for it.
enum Cast {
    static let bundleID = "com.example.garden"
    static let appAppleID: Int64 = 1234
    static let app = AppIdentity(
        bundleID: bundleID, appAppleID: appAppleID, environments: [.production, .sandbox])
    static let now = Moment.year2026.onWire

    static func verifier() throws -> AppStoreTrust.Verifier {
        try AppStoreTrust.Verifier(roots: TrustRoots(der: [Authority.shared.get().root.der]))
    }

    static func transaction(
        bundle: String? = bundleID, environment: String? = "Production",
        signed: Moment? = .year2026, original: String = "1000"
    ) -> JSON {
        members([
            ("transactionId", "1001"), ("originalTransactionId", .string(original)),
            ("bundleId", bundle.map(JSON.string)), ("environment", environment.map(JSON.string)),
            ("signedDate", signed?.onWire.json),
        ])
    }

    static func renewal(
        environment: String? = "Production", original: String? = "1000",
        signed: Moment? = .year2026
    ) -> JSON {
        members([
            ("originalTransactionId", original.map(JSON.string)),
            ("environment", environment.map(JSON.string)), ("signedDate", signed?.onWire.json),
        ])
    }

    static func appTransaction(
        environment: String = "Production", appAppleID: Int64? = appAppleID
    ) -> JSON {
        members([
            ("receiptType", .string(environment)), ("bundleId", .string(bundleID)),
            ("appAppleId", appAppleID.map(JSON.integer)),
            ("receiptCreationDate", Moment.year2026.onWire.json),
        ])
    }

    /// A notification with one member, such as `data`.
    static func notification(_ part: String, _ content: JSON) -> JSON {
        [
            "notificationType": "DID_RENEW", "notificationUUID": "n-1",
            "signedDate": now.json, part == "" ? "nothing" : part: content,
        ]
    }

    static func part(
        bundle: String? = bundleID, environment: String? = "Production",
        appAppleID: Int64? = appAppleID, _ more: [(String, JSON?)] = []
    ) -> JSON {
        members(
            [
                ("bundleId", bundle.map(JSON.string)),
                ("environment", environment.map(JSON.string)),
                ("appAppleId", appAppleID.map(JSON.integer)),
            ] + more)
    }

    static func members(_ members: [(String, JSON?)]) -> JSON {
        .object(members.compactMap { key, value in value.map { JSON.Member(key, $0) } })
    }
}

extension VerificationOutcome {
    var verified: Verified<Payload>? { if case .verified(let value) = self { value } else { nil } }
    var refusal: Refusal? { if case .refused(let refusal) = self { refusal } else { nil } }
    var uncertainty: ClockMismatch? {
        if case .clockMismatch(let uncertainty) = self { uncertainty } else { nil }
    }
}

extension NotificationOutcome {
    var contents: NotificationContents? {
        if case .verified(let contents) = self { contents } else { nil }
    }
    var refusal: Refusal? { if case .refused(let refusal) = self { refusal } else { nil } }
}
