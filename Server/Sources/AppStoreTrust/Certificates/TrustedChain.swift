import AppStoreFormats
import Crypto
import SwiftASN1
@_spi(DisableValidityCheck) import X509

/// The data of three certificates that lead to one of our roots. Only the data for later checks is
/// stored: the key that signs documents, and the time in which all three certificates are valid.
package struct TrustedChain: Sendable {
    package let leafKey: P256.Signing.PublicKey
    private let validity: CertificateValidity

    fileprivate init(leafKey: P256.Signing.PublicKey, certificates: [Certificate]) {
        self.leafKey = leafKey
        validity = CertificateValidity(of: certificates)
    }

    /// Throws unless all certificates were valid at the moment of signing.
    package func requireValid(at moment: AppStoreDate) throws(Refusal) {
        try validity.require(at: moment, of: .document)
    }
}

/// Builds chains from the certificates of a document to the roots, according to RFC 5280.
package struct ChainVerifier: Sendable {
    /// Apple's marker extensions of a certificate that signs App Store documents, and of the
    /// authority above it.
    static let leafMarker: ASN1ObjectIdentifier = [1, 2, 840, 113635, 100, 6, 11, 1]
    static let intermediateMarker: ASN1ObjectIdentifier = [1, 2, 840, 113635, 100, 6, 2, 1]

    private let roots: CertificateStore
    let rootCertificates: [Certificate]

    package init(roots: TrustRoots) {
        self.roots = CertificateStore(roots.certificates)
        rootCertificates = roots.certificates
    }

    /// Returns the chain of leaf, intermediate, and one of our roots. Throws if there is no such
    /// chain, if a marker extension is missing, or if the leaf's key is not a P-256 key. Does not
    /// check the time: call ``TrustedChain/requireValid(at:)`` at each use, for new chains and for
    /// cached ones.
    package func chain(
        leaf: [UInt8], intermediate: [UInt8]
    ) async throws(Refusal) -> TrustedChain {
        let leaf = try Certificate(reading: leaf)
        let intermediate = try Certificate(reading: intermediate)
        let path = try await path(from: leaf, over: [intermediate])
        try leaf.requireMarker(Self.leafMarker, named: "leaf")
        try intermediate.requireMarker(Self.intermediateMarker, named: "intermediate")
        try leaf.requireUsage("digital signatures", named: "leaf", \.digitalSignature)
        try intermediate.requireUsage(
            "signing certificates", named: "intermediate", \.keyCertSign)
        guard let key = P256.Signing.PublicKey(leaf.publicKey) else {
            throw Refusal(.algorithm, expected: "a P-256 key", found: "a key of another kind")
        }
        return TrustedChain(leafKey: key, certificates: path)
    }

    /// The path of three certificates from a leaf through one of the intermediates to a root.
    func path(
        from leaf: Certificate, over intermediates: [Certificate]
    ) async throws(Refusal) -> [Certificate] {
        var verifier = X509.Verifier(rootCertificates: roots) {
            RFC5280Policy.withValidityCheckDisabled()
        }
        let result = await verifier.validate(
            leaf: leaf, intermediates: CertificateStore(intermediates))
        guard case .validCertificate(let path) = result else {
            throw untrusted("\((intermediates.first ?? leaf).issuer)")
        }
        // A leaf signed directly by a root, or a root used as a leaf, is also a valid path, but not
        // one of Apple's.
        guard path.count == 3 else { throw untrusted("a path of \(path.count) certificates") }
        return Array(path)
    }

    func untrusted(_ found: String) -> Refusal {
        Refusal(
            .untrustedChain, expected: Self.names(of: rootCertificates), found: found)
    }

    /// The names of roots for a message, such as
    /// `Apple's roots and CN=Perennial Simulator Root CA`.
    private static func names(of roots: [Certificate]) -> String {
        let names = roots.map { "\($0.subject)" }
        let others = names.filter { !$0.contains("O=Apple Inc.") }
        let all = (others.count < names.count ? ["Apple's roots"] : []) + others
        return all.joined(separator: " and ")
    }
}

extension Certificate {
    /// Checks that a certificate has a marker. Apple defines only the marker's presence: its value
    /// is NULL.
    func requireMarker(
        _ marker: ASN1ObjectIdentifier, named name: String
    ) throws(Refusal) {
        guard extensions[oid: marker] == nil else { return }
        throw Refusal(
            .missingMarker, expected: "Apple's marker \(marker) there",
            found: "no marker in its \(name) certificate")
    }

    /// Checks the key usage, because the library's RFC 5280 policy does not. A certificate without
    /// a key usage extension may be used for anything.
    func requireUsage(
        _ use: String, named name: String, _ permitted: KeyPath<KeyUsage, Bool>
    ) throws(Refusal) {
        let usage: KeyUsage?
        do { usage = try extensions.keyUsage } catch {
            throw Refusal(
                .certificateUnreadable, expected: "X.509 certificates in DER",
                found: "a key usage that cannot be read")
        }
        guard let usage, !usage[keyPath: permitted] else { return }
        throw Refusal(
            .wrongKeyUsage, expected: "a key for \(use)",
            found: "a key for another usage in its \(name) certificate")
    }
}
