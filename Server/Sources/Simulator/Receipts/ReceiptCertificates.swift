import Crypto
import SwiftASN1
import X509
import _CryptoExtras

/// The certificates of receipts. The certificates use RSA as Apple's do, because receipt readers on
/// devices know no other algorithm.
enum ReceiptCertificates {
    typealias Key = _RSA.Signing.PrivateKey

    /// The marker extension of Apple's certificates that sign transaction receipts.
    static let purchaseMarker: ASN1ObjectIdentifier = [1, 2, 840, 113635, 100, 6, 5, 1]

    static func root(_ key: Key) throws -> Certificate {
        let name = try Certificates.name("Perennial Simulator Receipt Root CA")
        let publicKey = Certificate.PublicKey(key.publicKey)
        return try certificate(
            publicKey, name: name, issuer: name, Certificates.rootExtensions(publicKey),
            signer: key)
    }

    static func intermediate(
        _ key: Key, under root: Certificate, signer: Key
    ) throws -> Certificate {
        let publicKey = Certificate.PublicKey(key.publicKey)
        return try certificate(
            publicKey, name: Certificates.name("Perennial Simulator Receipt Relations CA"),
            issuer: root.subject,
            Certificates.intermediateExtensions(publicKey, under: root), signer: signer)
    }

    /// The receipt signer, under the intermediate or, for transaction receipts, under the root.
    static func leaf(
        _ key: Key, named name: String, under issuer: Certificate, signer: Key,
        marker: ASN1ObjectIdentifier = Certificates.leafMarker
    ) throws -> Certificate {
        let publicKey = Certificate.PublicKey(key.publicKey)
        return try certificate(
            publicKey, name: Certificates.name(name), issuer: issuer.subject,
            Certificates.leafExtensions(publicKey, under: issuer, marker: marker), signer: signer)
    }

    private static func certificate(
        _ publicKey: Certificate.PublicKey, name: DistinguishedName, issuer: DistinguishedName,
        _ extensions: Certificate.Extensions, signer: Key
    ) throws -> Certificate {
        // Two certificates have the same key and serial number: they differ by their issuer.
        let number = Certificates.serialNumber(of: publicKey)
        return try Certificate(
            version: .v3, serialNumber: number, publicKey: publicKey,
            notValidBefore: Certificates.notBefore, notValidAfter: Certificates.notAfter,
            issuer: issuer, subject: name, signatureAlgorithm: .sha256WithRSAEncryption,
            extensions: extensions, issuerPrivateKey: Certificate.PrivateKey(signer))
    }
}
