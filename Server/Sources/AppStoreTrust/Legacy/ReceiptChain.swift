import AppStoreFormats
import Crypto
import SwiftASN1
import X509
import _CryptoExtras

/// The data of the certificates that lead from a receipt's signer to one of our roots: the key, and
/// the time in which all certificates are valid.
struct ReceiptChain: Sendable {
    let key: _RSA.Signing.PublicKey
    private let validity: CertificateValidity
    /// Whether the receipt contained only these certificates.
    let isAllThatCame: Bool

    init(
        key: _RSA.Signing.PublicKey, certificates: [Certificate], isAllThatCame: Bool = false
    ) {
        self.key = key
        self.isAllThatCame = isAllThatCame
        validity = CertificateValidity(of: certificates)
    }

    /// Throws unless all certificates were valid when the receipt was created. The current time
    /// does not matter, because receipts outlive their certificates.
    func requireValid(at created: AppStoreDate) throws(Refusal) {
        try validity.require(at: created, of: .receipt)
    }

    func requireSignature(
        _ signature: some Collection<UInt8>, of bytes: some Collection<UInt8>,
        _ digest: ReceiptDigest
    ) throws(Refusal) {
        guard key.hasSigned(Array(bytes), as: Array(signature), digest) else {
            throw Refusal(
                .badSignature, expected: "a signature by its signer's key",
                found: "a signature that does not match", of: .receipt)
        }
    }
}

extension _RSA.Signing.PublicKey {
    /// Whether a signature (PKCS #1 v1.5) matches these bytes.
    func hasSigned(_ bytes: [UInt8], as signature: [UInt8], _ digest: ReceiptDigest) -> Bool {
        let signature = _RSA.Signing.RSASignature(rawRepresentation: signature)
        let padding = _RSA.Signing.Padding.insecurePKCS1v1_5
        return switch digest {
        case .sha1:
            isValidSignature(signature, for: Insecure.SHA1.hash(data: bytes), padding: padding)
        case .sha256: isValidSignature(signature, for: SHA256.hash(data: bytes), padding: padding)
        }
    }
}

extension ChainVerifier {
    /// Finds a path from the leaf through one of the other certificates to a root. Tries one
    /// certificate at a time, and only certificates that can be between the leaf and a root. If the
    /// library got all of them at once, it would try every order.
    private func path(
        from leaf: Certificate, overOneOf others: [Certificate]
    ) async throws(Refusal) -> [Certificate] {
        let between = others.filter { other in
            other.subject == leaf.issuer
                && rootCertificates.contains { $0.subject == other.issuer }
        }
        var refusal: Refusal?
        for other in between {
            do throws(Refusal) { return try await path(from: leaf, over: [other]) } catch {
                refusal = refusal ?? error
            }
        }
        if let refusal { throw refusal }
        return try await path(from: leaf, over: [])
    }

    /// Returns the chain of an app receipt: the certificate of the named signer, one of the other
    /// certificates, and one of our roots. A root within the file is never trusted.
    ///
    /// Apple's marker extensions are required, because otherwise anybody with a developer
    /// certificate could sign receipts.
    func chain(
        of envelope: ReceiptEnvelope
    ) async throws(Refusal) -> ReceiptChain {
        var leaf: Certificate?
        var others: [Certificate] = []
        for der in envelope.certificates {
            let certificate = try Certificate(reading: der)
            if leaf == nil, RSACertificate.matches(der, envelope.issuer, envelope.serialNumber) {
                leaf = certificate
            } else {
                others.append(certificate)
            }
        }
        guard let leaf else { throw untrusted("no certificate of the signer that it names") }
        let path = try await path(from: leaf, overOneOf: others)
        try leaf.requireMarker(Self.leafMarker, named: "leaf")
        try path[1].requireMarker(Self.intermediateMarker, named: "intermediate")
        try leaf.requireUsage("digital signatures", named: "leaf", \.digitalSignature)
        try path[1].requireUsage("signing certificates", named: "intermediate", \.keyCertSign)
        guard let key = _RSA.Signing.PublicKey(leaf.publicKey) else {
            throw Refusal(.algorithm, expected: "an RSA key", found: "a key of another kind")
        }
        let isAllThatCame =
            envelope.certificates.count <= path.count && others.allSatisfy(path.contains)
        return ReceiptChain(key: key, certificates: path, isAllThatCame: isAllThatCame)
    }
}
