import Crypto
import Foundation
import SwiftASN1
import X509

/// A certificate authority's key with deterministic signatures (``DeterministicSignature``). One
/// seed therefore gives one chain of certificates.
struct DeterministicKey: CustomPrivateKey {
    static let defaultPEMDiscriminator = "PRIVATE KEY"

    let publicKey: Certificate.PublicKey
    let defaultSignatureAlgorithm = Certificate.SignatureAlgorithm.ecdsaWithSHA384
    var supportedSignatureAlgorithms: [Certificate.SignatureAlgorithm] {
        [defaultSignatureAlgorithm]
    }
    private let key: P384.Signing.PrivateKey
    private let signature: DeterministicSignature<SHA384>

    init(_ key: P384.Signing.PrivateKey) {
        self.key = key
        publicKey = Certificate.PublicKey(key.publicKey)
        signature = DeterministicSignature(key)
    }

    func signSynchronously(
        bytes: some DataProtocol, signatureAlgorithm: Certificate.SignatureAlgorithm
    ) throws -> Certificate.Signature {
        let raw = try signature(bytes)
        let encoded = try P384.Signing.ECDSASignature(rawRepresentation: raw).derRepresentation
        return try Certificate.Signature(
            signatureAlgorithm: signatureAlgorithm,
            signatureBytes: ASN1BitString(bytes: ArraySlice(encoded)))
    }

    func serialize(into coder: inout DER.Serializer) throws {
        coder.serialize(try DER.parse(Array(key.derRepresentation)))
    }

    static func == (one: Self, other: Self) -> Bool { one.publicKey == other.publicKey }

    func hash(into hasher: inout Hasher) { hasher.combine(publicKey) }
}
