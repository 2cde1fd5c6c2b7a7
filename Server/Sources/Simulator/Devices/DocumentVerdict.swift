import AppStoreFormats
import Crypto

/// Whether a device trusts a document: StoreKit's `VerificationResult`, with the cases of its
/// `VerificationError`.
enum DocumentVerdict: String, Hashable, Sendable, CaseIterable {
    case verified
    case revokedCertificate = "revoked_certificate"
    case invalidCertificateChain = "invalid_certificate_chain"
    case invalidDeviceVerification = "invalid_device_verification"
    case invalidEncoding = "invalid_encoding"
    case invalidSignature = "invalid_signature"
    case missingRequiredProperties = "missing_required_properties"

    /// The verdicts that a request can set.
    static let failures = allCases.filter { $0 != .verified }

    /// Checks a document as a device does: that it is a JWS, signed by the authority, and made for
    /// this device. The server checks which app and environment the document is for.
    init(
        of document: String, from authority: SigningAuthority, for device: DeviceVerification
    ) {
        guard let jws = CompactJWS(document), let payload = jws.payload,
            let json = try? JSON(parsing: payload), let signature = jws.signature
        else {
            self = .invalidEncoding
            return
        }
        guard authority.isSignature(signature, of: jws.signedBytes) else {
            self = .invalidSignature
            return
        }
        guard let verification = json["deviceVerification"]?.string,
            let nonce = json["deviceVerificationNonce"]?.string
        else {
            self = .missingRequiredProperties
            return
        }
        let isBound = verification == device.verification(with: nonce)
        self = isBound ? .verified : .invalidDeviceVerification
    }
}

extension AppStoreSimulator {
    /// A device's verdict on a document: the verdict that was set, or else the true verdict.
    func verdict(on document: String, by deviceID: String) -> DocumentVerdict {
        if let ordered = phones[deviceID]?.verdict { return ordered }
        return DocumentVerdict(
            of: document, from: authority,
            for: DeviceVerification(seed: settings.seed, deviceID: deviceID))
    }

    /// The verdicts on documents, in their order.
    func verdicts(on documents: [String], by deviceID: String) -> JSON {
        .array(documents.map { .string(verdict(on: $0, by: deviceID).rawValue) })
    }
}
