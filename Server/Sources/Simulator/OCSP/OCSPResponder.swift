import Crypto
import Foundation
import SwiftASN1
import X509

/// Reports on behalf of an issuer whether its certificates are valid (RFC 6960). The responder
/// signs with a separate key, under a certificate that the issuer has signed for this use.
struct OCSPResponder: Sendable {
    /// The status of a certificate.
    enum CertificateStatus: Hashable, Sendable {
        case good
        case revoked(at: Date)
        case unknown
    }

    /// How long a response is valid, in seconds.
    static let validSeconds: TimeInterval = 43_200
    /// By how many seconds a response is dated before it is sent, as Apple's responses are.
    private static let ageSeconds: TimeInterval = 60

    private static let ecdsaWithSHA256: ASN1ObjectIdentifier = [1, 2, 840, 10045, 4, 3, 2]
    private static let basicResponse: ASN1ObjectIdentifier = [1, 3, 6, 1, 5, 5, 7, 48, 1, 1]

    let key: P256.Signing.PrivateKey
    /// The responder's certificate in DER.
    let certificate: [UInt8]
    let issuer: Certificate.PublicKey

    /// Whether a question is about a certificate of this responder's issuer.
    func covers(_ question: OCSPRequest.Question) -> Bool {
        Self.hash(issuer.subjectPublicKeyInfoBytes, by: question.hashAlgorithm)
            == question.issuerKeyHash
    }

    private static func hash(
        _ bytes: ArraySlice<UInt8>, by algorithm: ASN1ObjectIdentifier
    ) -> [UInt8]? {
        switch algorithm {
        case [1, 3, 14, 3, 2, 26]: Array(Insecure.SHA1.hash(data: bytes))
        case [2, 16, 840, 1, 101, 3, 4, 2, 1]: Array(SHA256.hash(data: bytes))
        case [2, 16, 840, 1, 101, 3, 4, 2, 2]: Array(SHA384.hash(data: bytes))
        case [2, 16, 840, 1, 101, 3, 4, 2, 3]: Array(SHA512.hash(data: bytes))
        default: nil
        }
    }

    // MARK: - The response, from the inside out

    /// A signed response, in DER.
    func response(
        to request: OCSPRequest, at now: Date, standing: (OCSPRequest.Question) -> CertificateStatus
    ) throws -> [UInt8] {
        let made = try GeneralizedTime(now.addingTimeInterval(-Self.ageSeconds))
        let until = try GeneralizedTime(now.addingTimeInterval(Self.validSeconds))
        let contents = try Self.encoded { coder in
            try coder.appendConstructedNode(identifier: .sequence) { coder in
                try coder.tagged(2) { try $0.serialize(keyHash) }
                try coder.serialize(made)
                try coder.appendConstructedNode(identifier: .sequence) { coder in
                    for question in request.questions {
                        try coder.write(question, standing(question), from: made, until: until)
                    }
                }
                if let nonce = request.encodedNonce {
                    coder.tagged(1) { coder in
                        coder.appendConstructedNode(identifier: .sequence) {
                            $0.serializeRawBytes(nonce)
                        }
                    }
                }
            }
        }
        return try Self.wrapped(signed(contents))
    }

    /// SHA-1 of the responder's key, which identifies the signer of a response.
    private var keyHash: ASN1OctetString {
        let bytes = Certificate.PublicKey(key.publicKey).subjectPublicKeyInfoBytes
        return ASN1OctetString(contentBytes: ArraySlice(Insecure.SHA1.hash(data: bytes)))
    }

    private func signed(_ contents: [UInt8]) throws -> [UInt8] {
        let signature = try key.signature(for: contents).derRepresentation
        return try Self.encoded { coder in
            try coder.appendConstructedNode(identifier: .sequence) { coder in
                coder.serializeRawBytes(contents)
                try coder.appendConstructedNode(identifier: .sequence) { coder in
                    try coder.serialize(Self.ecdsaWithSHA256)
                }
                try coder.serialize(ASN1BitString(bytes: ArraySlice(signature)))
                coder.tagged(0) { coder in
                    coder.appendConstructedNode(identifier: .sequence) {
                        $0.serializeRawBytes(certificate)
                    }
                }
            }
        }
    }

    private static func wrapped(_ basic: [UInt8]) throws -> [UInt8] {
        try encoded { coder in
            try coder.appendConstructedNode(identifier: .sequence) { coder in
                coder.write(status: 0)
                try coder.tagged(0) { coder in
                    try coder.appendConstructedNode(identifier: .sequence) { coder in
                        try coder.serialize(basicResponse)
                        try coder.serialize(ASN1OctetString(contentBytes: ArraySlice(basic)))
                    }
                }
            }
        }
    }

    // MARK: - Unsigned responses

    /// The response to a request that cannot be parsed.
    static let malformedRequest: [UInt8] = refusal(1)
    /// The response to a request about certificates whose issuer has no responder here.
    static let unauthorized: [UInt8] = refusal(6)

    private static func refusal(_ status: UInt8) -> [UInt8] {
        encoded { coder in
            coder.appendConstructedNode(identifier: .sequence) { $0.write(status: status) }
        }
    }

    private static func encoded(
        _ write: (inout DER.Serializer) throws -> Void
    ) rethrows -> [UInt8] {
        var coder = DER.Serializer()
        try write(&coder)
        return coder.serializedBytes
    }
}

extension DER.Serializer {
    fileprivate mutating func tagged(
        _ number: UInt, _ write: (inout DER.Serializer) throws -> Void
    ) rethrows {
        try serialize(
            explicitlyTaggedWithTagNumber: number, tagClass: .contextSpecific, write)
    }

    fileprivate mutating func write(status: UInt8) {
        appendPrimitiveNode(identifier: .enumerated) { $0.append(status) }
    }

    /// SingleResponse: the CertID of the question, the status, the two dates.
    fileprivate mutating func write(
        _ question: OCSPRequest.Question, _ standing: OCSPResponder.CertificateStatus,
        from made: GeneralizedTime, until: GeneralizedTime
    ) throws {
        try appendConstructedNode(identifier: .sequence) { coder in
            coder.serializeRawBytes(question.encoded)
            try coder.write(standing)
            try coder.serialize(made)
            try coder.tagged(0) { try $0.serialize(until) }
        }
    }

    private mutating func write(_ standing: OCSPResponder.CertificateStatus) throws {
        func tag(_ number: UInt) -> ASN1Identifier {
            ASN1Identifier(tagWithNumber: number, tagClass: .contextSpecific)
        }
        switch standing {
        case .good: appendPrimitiveNode(identifier: tag(0)) { _ in }
        case .unknown: appendPrimitiveNode(identifier: tag(2)) { _ in }
        case .revoked(let moment):
            try appendConstructedNode(identifier: tag(1)) { coder in
                try coder.serialize(GeneralizedTime(moment))
            }
        }
    }
}

extension GeneralizedTime {
    /// A moment in UTC, truncated to the second.
    fileprivate init(_ date: Date) throws {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = .gmt
        let parts = calendar.dateComponents(
            [.year, .month, .day, .hour, .minute, .second], from: date)
        try self.init(
            year: parts.year ?? 0, month: parts.month ?? 0, day: parts.day ?? 0,
            hours: parts.hour ?? 0, minutes: parts.minute ?? 0, seconds: parts.second ?? 0,
            fractionalSeconds: 0)
    }
}
