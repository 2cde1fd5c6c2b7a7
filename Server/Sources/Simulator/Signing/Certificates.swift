import Crypto
import Foundation
import SwiftASN1
import X509

/// Makes certificates with the extensions of Apple's certificates and those that strict verifiers
/// (OpenSSL's `X509_STRICT`) require.
enum Certificates {
    /// The marker extension of the intermediate: Apple Worldwide Developer Relations.
    static let intermediateMarker: ASN1ObjectIdentifier = [1, 2, 840, 113635, 100, 6, 2, 1]
    /// The marker extension of the leaf: receipt signing.
    static let leafMarker: ASN1ObjectIdentifier = [1, 2, 840, 113635, 100, 6, 11, 1]

    // A virtual clock can show any time since the App Store began, and times far in the future.
    // Verifiers check the chain at the time of signing, so the whole chain must be valid
    // throughout: from 2013-01-01 to 2099-01-01.
    static let notBefore = Date(timeIntervalSince1970: 1_356_998_400)
    static let notAfter = Date(timeIntervalSince1970: 4_070_908_800)

    static func root(_ key: P384.Signing.PrivateKey) throws -> Certificate {
        let name = try self.name("Perennial Simulator Root CA")
        let publicKey = Certificate.PublicKey(key.publicKey)
        return try certificate(
            publicKey, name: name, issuer: name, rootExtensions(publicKey), signer: key)
    }

    /// Makes an intermediate. If `ocspURL` is given, the certificate names it as its OCSP
    /// responder.
    static func intermediate(
        _ key: P384.Signing.PrivateKey, under root: Certificate, signer: P384.Signing.PrivateKey,
        ocspURL: String? = nil
    ) throws -> Certificate {
        let publicKey = Certificate.PublicKey(key.publicKey)
        return try certificate(
            publicKey, name: name("Perennial Simulator Developer Relations CA"),
            issuer: root.subject,
            intermediateExtensions(publicKey, under: root, ocspURL: ocspURL), signer: signer)
    }

    static func leaf(
        _ key: P256.Signing.PrivateKey, under intermediate: Certificate,
        signer: P384.Signing.PrivateKey, ocspURL: String? = nil
    ) throws -> Certificate {
        let publicKey = Certificate.PublicKey(key.publicKey)
        return try certificate(
            publicKey, name: name("Perennial Simulator Receipt Signing"),
            issuer: intermediate.subject,
            leafExtensions(publicKey, under: intermediate, ocspURL: ocspURL), signer: signer)
    }

    /// A certificate that signs OCSP responses on behalf of an issuer (RFC 6960 §4.2.2.2). Its
    /// extended key usage is not critical, because swift-certificates refuses it otherwise.
    static func responder(
        _ key: P256.Signing.PrivateKey, under issuer: Certificate, signer: P384.Signing.PrivateKey
    ) throws -> Certificate {
        let publicKey = Certificate.PublicKey(key.publicKey)
        let extensions = try Certificate.Extensions {
            Critical(BasicConstraints.notCertificateAuthority)
            Critical(KeyUsage(digitalSignature: true))
            try ExtendedKeyUsage([.ocspSigning])
            SubjectKeyIdentifier(hash: publicKey)
            identifier(of: issuer)
        }
        return try certificate(
            publicKey, name: name("Perennial Simulator OCSP Responder"),
            issuer: issuer.subject, extensions, signer: signer)
    }

    // MARK: - Extensions shared by all kinds of keys

    static func rootExtensions(
        _ key: Certificate.PublicKey
    ) throws -> Certificate.Extensions {
        try Certificate.Extensions {
            Critical(BasicConstraints.isCertificateAuthority(maxPathLength: nil))
            Critical(KeyUsage(keyCertSign: true, cRLSign: true))
            SubjectKeyIdentifier(hash: key)
        }
    }

    static func intermediateExtensions(
        _ key: Certificate.PublicKey, under root: Certificate, ocspURL: String? = nil
    ) throws -> Certificate.Extensions {
        try Certificate.Extensions {
            Critical(BasicConstraints.isCertificateAuthority(maxPathLength: 0))
            Critical(KeyUsage(keyCertSign: true, cRLSign: true))
            SubjectKeyIdentifier(hash: key)
            identifier(of: root)
            if let ocspURL { ocspAccess(at: ocspURL) }
            marker(intermediateMarker)
        }
    }

    static func leafExtensions(
        _ key: Certificate.PublicKey, under issuer: Certificate, ocspURL: String? = nil,
        marker: ASN1ObjectIdentifier = leafMarker
    ) throws -> Certificate.Extensions {
        try Certificate.Extensions {
            Critical(BasicConstraints.notCertificateAuthority)
            Critical(KeyUsage(digitalSignature: true))
            SubjectKeyIdentifier(hash: key)
            identifier(of: issuer)
            if let ocspURL { ocspAccess(at: ocspURL) }
            self.marker(marker)
        }
    }

    private static func ocspAccess(at url: String) -> AuthorityInformationAccess {
        AuthorityInformationAccess([
            .init(method: .ocspServer, location: .uniformResourceIdentifier(url))
        ])
    }

    static func name(_ commonName: String) throws -> DistinguishedName {
        try DistinguishedName {
            CommonName(commonName)
            OrganizationName("Perennial Simulator")
            CountryName("US")
        }
    }

    private static func identifier(of issuer: Certificate) -> AuthorityKeyIdentifier {
        let subject = SubjectKeyIdentifier(hash: issuer.publicKey)
        return AuthorityKeyIdentifier(keyIdentifier: subject.keyIdentifier)
    }

    /// An extension that only needs to be present. Its value is an ASN.1 NULL.
    private static func marker(_ oid: ASN1ObjectIdentifier) -> Certificate.Extension {
        Certificate.Extension(oid: oid, critical: false, value: [0x05, 0x00])
    }

    private static func certificate(
        _ publicKey: Certificate.PublicKey, name: DistinguishedName, issuer: DistinguishedName,
        _ extensions: Certificate.Extensions, signer: P384.Signing.PrivateKey
    ) throws -> Certificate {
        try Certificate(
            version: .v3, serialNumber: serialNumber(of: publicKey), publicKey: publicKey,
            notValidBefore: notBefore, notValidAfter: notAfter, issuer: issuer, subject: name,
            signatureAlgorithm: .ecdsaWithSHA384, extensions: extensions,
            issuerPrivateKey: Certificate.PrivateKey(DeterministicKey(signer)))
    }

    /// A positive serial number of twenty bytes derived from the key, as RFC 5280 (§4.1.2.2)
    /// allows.
    static func serialNumber(of key: Certificate.PublicKey) -> Certificate.SerialNumber {
        var bytes = Array(SHA256.hash(data: key.subjectPublicKeyInfoBytes).prefix(20))
        bytes[0] = bytes[0] & 0x7F | 0x40
        return Certificate.SerialNumber(bytes: bytes)
    }
}
