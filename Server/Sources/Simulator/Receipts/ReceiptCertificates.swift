import Crypto
import SwiftASN1
import X509
import _CryptoExtras

/// The certificates under which receipts are signed: RSA, as Apple's are, since what reads receipts
/// on a device knows no other.
enum ReceiptCertificates {
    typealias Key = _RSA.Signing.PrivateKey

    /// Apple's mark of what signs transaction receipts.
    static let purchaseMarker: ASN1ObjectIdentifier = [1, 2, 840, 113635, 100, 6, 5, 1]

    static func key() throws -> Key { try Key(keySize: .bits2048) }

    static func root(_ key: Key) throws -> Certificate {
        let name = try Certificates.name("Perennial Simulator Receipt Root CA")
        let publicKey = Certificate.PublicKey(key.publicKey)
        let extensions = try Certificate.Extensions {
            Critical(BasicConstraints.isCertificateAuthority(maxPathLength: nil))
            Critical(KeyUsage(keyCertSign: true, cRLSign: true))
            SubjectKeyIdentifier(hash: publicKey)
        }
        return try certificate(publicKey, name: name, issuer: name, extensions, signer: key)
    }

    static func intermediate(
        _ key: Key, under root: Certificate, signer: Key
    ) throws -> Certificate {
        let publicKey = Certificate.PublicKey(key.publicKey)
        let extensions = try Certificate.Extensions {
            Critical(BasicConstraints.isCertificateAuthority(maxPathLength: 0))
            Critical(KeyUsage(keyCertSign: true, cRLSign: true))
            SubjectKeyIdentifier(hash: publicKey)
            Certificates.identifier(of: root)
            Certificates.marker(Certificates.intermediateMarker)
        }
        return try certificate(
            publicKey, name: Certificates.name("Perennial Simulator Receipt Relations CA"),
            issuer: root.subject, extensions, signer: signer)
    }

    /// What signs receipts, under the intermediate or, for transaction receipts, under the root.
    static func leaf(
        _ key: Key, named name: String, under issuer: Certificate, signer: Key,
        marker: ASN1ObjectIdentifier = Certificates.leafMarker
    ) throws -> Certificate {
        let publicKey = Certificate.PublicKey(key.publicKey)
        let extensions = try Certificate.Extensions {
            Critical(BasicConstraints.notCertificateAuthority)
            Critical(KeyUsage(digitalSignature: true))
            SubjectKeyIdentifier(hash: publicKey)
            Certificates.identifier(of: issuer)
            Certificates.marker(marker)
        }
        return try certificate(
            publicKey, name: Certificates.name(name), issuer: issuer.subject, extensions,
            signer: signer)
    }

    private static func certificate(
        _ publicKey: Certificate.PublicKey, name: DistinguishedName, issuer: DistinguishedName,
        _ extensions: Certificate.Extensions, signer: Key
    ) throws -> Certificate {
        try Certificate(
            version: .v3, serialNumber: Certificate.SerialNumber(), publicKey: publicKey,
            notValidBefore: Certificates.notBefore, notValidAfter: Certificates.notAfter,
            issuer: issuer, subject: name, signatureAlgorithm: .sha256WithRSAEncryption,
            extensions: extensions, issuerPrivateKey: Certificate.PrivateKey(signer))
    }
}
