import AppStoreFormats
import Crypto
import Foundation
import SwiftASN1
import X509

/// Our own root and intermediate, made like Apple's: both have P-384 keys, and the leaves have
/// P-256 keys.
package struct Authority: Sendable {
    package static let leafMarker: ASN1ObjectIdentifier = [1, 2, 840, 113635, 100, 6, 11, 1]
    package static let intermediateMarker: ASN1ObjectIdentifier = [1, 2, 840, 113635, 100, 6, 2, 1]
    package static let otherMarker: ASN1ObjectIdentifier = [1, 2, 840, 113635, 100, 6, 11, 2]

    /// The authority that most tests trust.
    package static let shared = Result { try Authority() }

    package let rootKey = P384.Signing.PrivateKey()
    package let intermediateKey = P384.Signing.PrivateKey()
    package let root: Certificate
    package let intermediate: Certificate

    package init(
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

    /// A signer with its own leaf under the intermediate.
    package func signer(
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

    /// A certificate for any key, directly under the root.
    package func certificateUnderRoot(
        named name: String, key: Certificate.PublicKey
    ) throws -> Certificate {
        try Self.certificate(
            named: name, by: "Root", key: key, signedWith: .init(rootKey),
            valid: .year2020 ..< .year2040, marker: Self.leafMarker,
            usage: KeyUsage(digitalSignature: true), constraints: .notCertificateAuthority)
    }

    /// A leaf for a key of a curve other than P-256.
    package func leaf(for key: P384.Signing.PublicKey) throws -> Certificate {
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
    package var der: [UInt8] {
        get throws {
            var serializer = DER.Serializer()
            try serializer.serialize(self)
            return serializer.serializedBytes
        }
    }
}
