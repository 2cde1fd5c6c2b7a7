import AppStoreFormats
import Crypto
import Foundation
import SwiftASN1
import X509

/// A root and an intermediate of our own, shaped like Apple's: P-384 above, P-256 leaves below.
struct Authority: Sendable {
    static let leafMarker: ASN1ObjectIdentifier = [1, 2, 840, 113635, 100, 6, 11, 1]
    static let intermediateMarker: ASN1ObjectIdentifier = [1, 2, 840, 113635, 100, 6, 2, 1]
    static let otherMarker: ASN1ObjectIdentifier = [1, 2, 840, 113635, 100, 6, 11, 2]

    /// The one that most tests trust.
    static let shared = Result { try Authority() }

    let rootKey = P384.Signing.PrivateKey()
    let intermediateKey = P384.Signing.PrivateKey()
    let root: Certificate
    let intermediate: Certificate

    init(
        intermediateMarker: ASN1ObjectIdentifier? = Self.intermediateMarker,
        intermediateUsage: KeyUsage? = KeyUsage(keyCertSign: true, cRLSign: true),
        intermediateIsAuthority: Bool = true,
        intermediateValid: Range<Moment> = .year2020 ..< .year2040,
        rootValid: Range<Moment> = .year2020 ..< .year2040
    ) throws {
        let rootPrivate = Certificate.PrivateKey(rootKey)
        root = try Self.certificate(
            named: "Root", by: "Root", key: rootPrivate.publicKey, signedWith: rootPrivate,
            valid: rootValid, marker: nil, usage: KeyUsage(keyCertSign: true, cRLSign: true),
            constraints: .isCertificateAuthority(maxPathLength: nil))
        intermediate = try Self.certificate(
            named: "Intermediate", by: "Root", key: .init(intermediateKey.publicKey),
            signedWith: rootPrivate, valid: intermediateValid, marker: intermediateMarker,
            usage: intermediateUsage,
            constraints: intermediateIsAuthority
                ? .isCertificateAuthority(maxPathLength: 0) : .notCertificateAuthority)
    }

    /// A signer with a leaf of its own under the intermediate.
    func signer(
        marker: ASN1ObjectIdentifier? = Self.leafMarker,
        usage: KeyUsage? = KeyUsage(digitalSignature: true),
        valid: Range<Moment> = .year2025 ..< .year2027
    ) throws -> Signer {
        let key = P256.Signing.PrivateKey()
        let leaf = try Self.certificate(
            named: "Leaf", by: "Intermediate", key: .init(key.publicKey),
            signedWith: .init(intermediateKey), valid: valid, marker: marker, usage: usage,
            constraints: .notCertificateAuthority)
        return Signer(key: key, certificates: try [leaf, intermediate, root].map { try $0.der })
    }

    /// A certificate for any key, straight under the root.
    func certificateUnderRoot(
        named name: String, key: Certificate.PublicKey
    ) throws -> Certificate {
        try Self.certificate(
            named: name, by: "Root", key: key, signedWith: .init(rootKey),
            valid: .year2020 ..< .year2040, marker: Self.leafMarker,
            usage: KeyUsage(digitalSignature: true), constraints: .notCertificateAuthority)
    }

    /// A leaf for a key that is not of P-256.
    func leaf(for key: P384.Signing.PublicKey) throws -> Certificate {
        try Self.certificate(
            named: "Leaf", by: "Intermediate", key: .init(key),
            signedWith: .init(intermediateKey), valid: .year2025 ..< .year2027,
            marker: Self.leafMarker, usage: KeyUsage(digitalSignature: true),
            constraints: .notCertificateAuthority)
    }

    private static func certificate(
        named subject: String, by issuer: String, key: Certificate.PublicKey,
        signedWith issuerKey: Certificate.PrivateKey, valid: Range<Moment>,
        marker: ASN1ObjectIdentifier?, usage: KeyUsage?, constraints: BasicConstraints
    ) throws -> Certificate {
        var extensions = Certificate.Extensions()
        try extensions.append(Certificate.Extension(constraints, critical: true))
        if let usage { try extensions.append(Certificate.Extension(usage, critical: true)) }
        if let marker {
            try extensions.append(
                Certificate.Extension(oid: marker, critical: false, value: [5, 0]))
        }
        return try Certificate(
            version: .v3, serialNumber: Certificate.SerialNumber(), publicKey: key,
            notValidBefore: valid.lowerBound.date, notValidAfter: valid.upperBound.date,
            issuer: try DistinguishedName { CommonName(issuer) },
            subject: try DistinguishedName { CommonName(subject) },
            signatureAlgorithm: .ecdsaWithSHA384, extensions: extensions,
            issuerPrivateKey: issuerKey)
    }
}

extension Certificate {
    var der: [UInt8] {
        get throws {
            var serializer = DER.Serializer()
            try serializer.serialize(self)
            return serializer.serializedBytes
        }
    }
}

/// A moment by name, for tests to say and for certificates to hold.
struct Moment: Hashable, Comparable, Sendable {
    static let year2020 = Moment(seconds: 1_577_836_800)
    static let year2025 = Moment(seconds: 1_735_689_600)
    static let year2026 = Moment(seconds: 1_767_225_600)
    static let year2027 = Moment(seconds: 1_798_761_600)
    static let year2028 = Moment(seconds: 1_830_297_600)
    static let year2040 = Moment(seconds: 2_208_988_800)

    var seconds: Int64
    var date: Date { Date(timeIntervalSince1970: Double(seconds)) }
    var onWire: AppStoreDate { AppStoreDate(milliseconds: seconds * 1000) }

    static func + (moment: Moment, seconds: Int64) -> Moment {
        Moment(seconds: moment.seconds + seconds)
    }
    static func < (one: Self, other: Self) -> Bool { one.seconds < other.seconds }
}

/// Signs as Apple does: certificates in the header, ES256 over the rest.
struct Signer: Sendable {
    var key: P256.Signing.PrivateKey
    var certificates: [[UInt8]]

    var header: JSON {
        let texts = certificates.map { Base64.standard.encode($0) }
        return [
            "alg": "ES256",
            "x5c": .array(texts.map { .string(String(decoding: $0, as: UTF8.self)) }),
        ]
    }

    func jws(_ payload: JSON, header: JSON? = nil) throws -> [UInt8] {
        try jws(payload: payload.bytes, header: (header ?? self.header).bytes)
    }

    func jws(payload: [UInt8], header: [UInt8]) throws -> [UInt8] {
        let dot = [UInt8(ascii: ".")]
        let signed = Base64.url.encode(header) + dot + Base64.url.encode(payload)
        return signed + dot
            + Base64.url.encode(try key.signature(for: SHA256.hash(data: signed)).rawRepresentation)
    }

    func text(_ payload: JSON) throws -> String {
        String(decoding: try jws(payload), as: UTF8.self)
    }
}
