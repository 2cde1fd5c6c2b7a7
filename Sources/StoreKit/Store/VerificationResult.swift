/// A value that the App Store has signed, with the device's verdict on the signature.
@frozen public enum VerificationResult<SignedType> {
    case unverified(SignedType, VerificationError)
    case verified(SignedType)

    public enum VerificationError: Error, Equatable, Hashable {
        case revokedCertificate
        case invalidCertificateChain
        case invalidDeviceVerification
        case invalidEncoding
        case invalidSignature
        case missingRequiredProperties
    }

    /// The value. Throws the ``VerificationError`` if the value is unverified.
    public var payloadValue: SignedType {
        get throws {
            switch self {
            case .verified(let value): return value
            case .unverified(_, let failure): throw failure
            }
        }
    }

    public var unsafePayloadValue: SignedType {
        switch self {
        case .verified(let value), .unverified(let value, _): value
        }
    }
}

extension VerificationResult: Sendable where SignedType: Sendable {}
extension VerificationResult: Equatable where SignedType: Equatable {}
extension VerificationResult: Hashable where SignedType: Hashable {}

extension VerificationResult: CustomDebugStringConvertible
where SignedType: CustomDebugStringConvertible {
    public var debugDescription: String {
        switch self {
        case .verified(let value): "verified: \(value.debugDescription)"
        case .unverified(let value, let failure):
            "unverified (\(failure)): \(value.debugDescription)"
        }
    }
}

extension VerificationResult.VerificationError: LocalizedError {
    public var errorDescription: String? { failureReason }

    public var failureReason: String? {
        switch self {
        case .revokedCertificate: "A certificate was revoked."
        case .invalidCertificateChain: "The certificate chain is not valid."
        case .invalidDeviceVerification: "The document was made for another device."
        case .invalidEncoding: "The document cannot be decoded."
        case .invalidSignature: "The signature is not valid."
        case .missingRequiredProperties: "The document lacks required properties."
        }
    }

    public var recoverySuggestion: String? { nil }

    /// The case with this name in the simulator. Returns nil for an unknown name.
    init?(named word: String) {
        switch word {
        case "revoked_certificate": self = .revokedCertificate
        case "invalid_certificate_chain": self = .invalidCertificateChain
        case "invalid_device_verification": self = .invalidDeviceVerification
        case "invalid_encoding": self = .invalidEncoding
        case "invalid_signature": self = .invalidSignature
        case "missing_required_properties": self = .missingRequiredProperties
        default: return nil
        }
    }
}

// MARK: - The document

extension VerificationResult where SignedType: SignedValue {
    /// - Parameter verdict: the simulator's word for the verdict. Without a word, the document is
    ///   unverified. Returns nil if the payload cannot be decoded.
    init?(_ jws: String, _ verdict: String?) {
        guard let value = SignedDocument(jws).flatMap({ SignedType($0) }) else { return nil }
        if verdict == "verified" {
            self = .verified(value)
        } else {
            self = .unverified(value, .init(named: verdict ?? "") ?? .invalidSignature)
        }
    }
}

extension VerificationResult where SignedType == Transaction {
    public var jwsRepresentation: String { unsafePayloadValue.document.jws }
    public var headerData: Data { unsafePayloadValue.document.header }
    public var payloadData: Data { unsafePayloadValue.document.payload }
    public var signatureData: Data { unsafePayloadValue.document.signature }
    public var signedData: Data { unsafePayloadValue.document.signedData }
    public var signedDate: Date { unsafePayloadValue.signedDate }
    public var deviceVerification: Data { unsafePayloadValue.deviceVerification }
    public var deviceVerificationNonce: UUID { unsafePayloadValue.deviceVerificationNonce }
}

extension VerificationResult where SignedType == Product.SubscriptionInfo.RenewalInfo {
    public var jwsRepresentation: String { unsafePayloadValue.document.jws }
    public var headerData: Data { unsafePayloadValue.document.header }
    public var payloadData: Data { unsafePayloadValue.document.payload }
    public var signatureData: Data { unsafePayloadValue.document.signature }
    public var signedData: Data { unsafePayloadValue.document.signedData }
    public var signedDate: Date { unsafePayloadValue.signedDate }
    public var deviceVerification: Data { unsafePayloadValue.deviceVerification }
    public var deviceVerificationNonce: UUID { unsafePayloadValue.deviceVerificationNonce }
}

extension VerificationResult where SignedType == AppTransaction {
    public var jwsRepresentation: String { unsafePayloadValue.document.jws }
    public var headerData: Data { unsafePayloadValue.document.header }
    public var payloadData: Data { unsafePayloadValue.document.payload }
    public var signatureData: Data { unsafePayloadValue.document.signature }
    public var signedData: Data { unsafePayloadValue.document.signedData }
    public var signedDate: Date { unsafePayloadValue.signedDate }
    public var deviceVerification: Data { unsafePayloadValue.deviceVerification }
    public var deviceVerificationNonce: UUID { unsafePayloadValue.deviceVerificationNonce }
}
