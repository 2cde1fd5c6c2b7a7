import AppStoreFormats
import Crypto
import Foundation
import SwiftASN1
import X509

/// The simulator's public-key infrastructure: a root, an intermediate and a leaf, which signs
/// documents as Apple's leaf does.
package struct SigningAuthority: Sendable {
    /// The number of bytes of an ES256 signature.
    private static let signatureCount = 64

    /// The source of the nonce of a signature.
    private enum NonceSource: Sendable {
        case random
        case deterministic(DeterministicSignature<SHA256>)
        case pooled(PooledSignature)
    }

    /// The certificates of leaf, intermediate and root, in DER.
    package let certificates: [[UInt8]]
    private let signingKey: P256.Signing.PrivateKey
    private let nonceSource: NonceSource
    /// Responds to OCSP requests. Nil if the certificates name no OCSP responder.
    let revocationResponder: RevocationResponder?
    /// The header in Apple's form, encoded once.
    private let head: JWSHeader
    private let receiptSource: ReceiptSource
    /// The seed from which the keys are derived. Nil if the keys are random.
    let seed: UInt64?

    /// Makes a new root, which no server trusts yet. If `ocspURL` is given, the certificates name
    /// it as OCSP responder.
    package init(ocspURL: String? = nil) throws(SigningFailure) {
        try self.init(
            root: P384.Signing.PrivateKey(), intermediate: P384.Signing.PrivateKey(),
            leaf: P256.Signing.PrivateKey(), receipts: .made(ReceiptAuthority()),
            responders: [P256.Signing.PrivateKey(), P256.Signing.PrivateKey()], ocspURL: ocspURL)
    }

    /// Derives the authority from a seed: the same seed gives the same root, and the same bytes for
    /// the same payload or receipt. Anybody who knows the seed can sign, so this is for tests only.
    package init(seed: UInt64, ocspURL: String? = nil) throws(SigningFailure) {
        let keys: SeededKeys
        do { keys = try SeededKeys(seed: seed) } catch {
            throw SigningFailure("No keys could be derived from the seed \(seed): \(error)")
        }
        try self.init(
            root: keys.root, intermediate: keys.intermediate, leaf: keys.leaf,
            receipts: .seeded(SeededReceiptAuthority(seed: seed)), responders: keys.responders,
            seed: seed, ocspURL: ocspURL)
    }

    private init(
        root rootKey: P384.Signing.PrivateKey,
        intermediate intermediateKey: P384.Signing.PrivateKey,
        leaf key: P256.Signing.PrivateKey, receipts: ReceiptSource,
        responders: [P256.Signing.PrivateKey], seed: UInt64? = nil, ocspURL: String?
    ) throws(SigningFailure) {
        do {
            let root = try Certificates.root(rootKey)
            let intermediate = try Certificates.intermediate(
                intermediateKey, under: root, signer: rootKey, ocspURL: ocspURL)
            let leaf = try Certificates.leaf(
                key, under: intermediate, signer: intermediateKey, ocspURL: ocspURL)
            let chain = [leaf, intermediate, root]
            let responder = try ocspURL.map { url in
                try RevocationResponder(
                    url: url, chain: chain, keys: responders, root: rootKey,
                    intermediate: intermediateKey)
            }
            self.init(
                key: key, certificates: try chain.map { try $0.derBytes }, receipts: receipts,
                drawing: seed == nil ? .random : .deterministic(DeterministicSignature(key)),
                responder: responder, seed: seed)
        } catch { throw SigningFailure("The simulator's certificates could not be made: \(error)") }
    }

    /// Restores the authority from ``stored``, so that the root stays the same across restarts.
    package init(stored: [UInt8]) throws(SigningFailure) {
        guard let json = try? JSON(parsing: stored), let keyText = json["leaf_key"]?.string,
            let keyBytes = Base64.standard.decode(Array(keyText.utf8)),
            let key = try? P256.Signing.PrivateKey(rawRepresentation: keyBytes),
            let chain = json["certificates"]?.array?.compactMap({ text in
                text.string.flatMap { Base64.standard.decode(Array($0.utf8)) }
            }), chain.count == 3
        else {
            throw SigningFailure(
                "The stored signing authority is damaged. Remove the file to make a new root."
            )
        }
        // A file written by an earlier version contains no receipt keys.
        let receipts =
            if let json = json["receipts"] { try ReceiptAuthority(stored: json) } else {
                try ReceiptAuthority()
            }
        self.init(
            key: key, certificates: chain, receipts: .made(receipts), drawing: .random,
            responder: json["ocsp"].flatMap { RevocationResponder(stored: $0, chain: chain) })
    }

    private init(
        key: P256.Signing.PrivateKey, certificates: [[UInt8]], receipts: ReceiptSource,
        drawing: NonceSource, responder: RevocationResponder? = nil, seed: UInt64? = nil
    ) {
        signingKey = key
        receiptSource = receipts
        self.seed = seed
        self.revocationResponder = responder
        self.nonceSource = drawing
        self.certificates = certificates
        head = JWSHeader(Self.header(certificates, overrides: []))
    }

    /// The same keys and certificates, with deterministic signatures.
    package var deterministic: Self {
        withNonces(from: .deterministic(DeterministicSignature(signingKey)))
    }

    /// The same keys and certificates, with deterministic signatures that cost almost no time to
    /// compute. Anybody who sees some of the signatures can find the key. Meant for millions of
    /// documents that are verified and then thrown away.
    package var fast: Self { withNonces(from: .pooled(PooledSignature(signingKey))) }

    private func withNonces(from source: NonceSource) -> Self {
        Self(
            key: signingKey, certificates: certificates, receipts: receiptSource,
            drawing: source, responder: revocationResponder, seed: seed)
    }

    /// Signs receipts, under a separate root. The receipt keys of a seeded authority are made on
    /// first use, which takes some tenths of a second.
    package var receipts: ReceiptAuthority {
        get throws(SigningFailure) { try receiptSource.authority }
    }

    /// The URL of the OCSP responder that the certificates name. Nil if they name none.
    package var ocspURL: String? { revocationResponder?.url }

    /// The input of ``init(stored:)``. The input contains the leaf's signing key; the private keys
    /// of root and intermediate are discarded after use.
    package var stored: [UInt8] {
        get throws(SigningFailure) {
            let chain = certificates.map { JSON.string(Self.base64($0)) }
            let key = JSON.string(Self.base64([UInt8](signingKey.rawRepresentation)))
            let ocsp = revocationResponder.map { [JSON.Member("ocsp", $0.stored)] } ?? []
            let members: [JSON.Member] = [
                .init("leaf_key", key), .init("certificates", .array(chain)),
                .init("receipts", try receipts.stored),
            ]
            return JSON.object(members + ocsp).bytes
        }
    }

    /// Whether both authorities share the same receipt keys, made once for both.
    func sharesReceiptKeys(as other: Self) -> Bool {
        switch (receiptSource, other.receiptSource) {
        case (.seeded(let one), .seeded(let other)): one === other
        case (.made, _), (_, .made): false
        }
    }

    /// The certificate that a server must trust in order to accept this simulator.
    package var rootDER: [UInt8] { certificates[2] }

    /// Signs a payload as a compact JWS (ES256), with the chain in its header.
    ///
    /// - Parameter header: replaces or adds members of the header, and removes those whose value is
    ///   null. For documents that a server must refuse.
    package func sign(
        _ payload: JSON, header overrides: [JSON.Member] = []
    ) throws(SigningFailure) -> String {
        try sign(
            payload.bytes,
            overrides.isEmpty ? head : JWSHeader(Self.header(certificates, overrides: overrides)))
    }

    /// Signs a payload as a compact JWS. Fields are in the order in which the type declares them.
    package func sign(_ payload: consuming some WireObject) throws(SigningFailure) -> String {
        try sign(payload.intoBytes(), head)
    }

    /// Signs a payload. Writes each part directly into the result: with copies, a population would
    /// take a tenth more time.
    private func sign(_ payload: [UInt8], _ head: JWSHeader) throws(SigningFailure) -> String {
        let end = head.bytes.count + Base64.url.count(of: payload.count)
        let count = end + 1 + Base64.url.count(of: Self.signatureCount)
        var failure: SigningFailure?
        let text = String(unsafeUninitializedCapacity: count) { text in
            let document = UnsafeMutableRawBufferPointer(text)
            head.bytes.withUnsafeBytes { document.copyMemory(from: $0) }
            let body = UnsafeMutableRawBufferPointer(rebasing: document[head.bytes.count..<end])
            _ = payload.withUnsafeBytes { Base64.url.write($0, to: body) }
            document[end] = UInt8(ascii: ".")
            let tail = UnsafeMutableRawBufferPointer(rebasing: document[(end + 1)...])
            do throws(SigningFailure) {
                let signature = try signature(of: head.digest(with: UnsafeRawBufferPointer(body)))
                _ = signature.withUnsafeBytes { Base64.url.write($0, to: tail) }
                return count
            } catch {
                failure = error
                return 0
            }
        }
        if let failure { throw failure }
        return text
    }

    /// An ES256 signature: r followed by s.
    private func signature(of digest: SHA256.Digest) throws(SigningFailure) -> [UInt8] {
        switch nonceSource {
        case .deterministic(let repeatable): return try repeatable(digest: digest)
        case .pooled(let pooled): return try pooled(digest: digest)
        case .random:
            do { return [UInt8](try signingKey.signature(for: digest).rawRepresentation) } catch {
                throw SigningFailure("A payload could not be signed: \(error)")
            }
        }
    }

    /// Whether a signature (r followed by s) over these bytes was made with the leaf's key.
    func isSignature(_ signature: [UInt8], of bytes: ArraySlice<UInt8>) -> Bool {
        guard let signature = try? P256.Signing.ECDSASignature(rawRepresentation: signature) else {
            return false
        }
        return signingKey.publicKey.isValidSignature(signature, for: bytes)
    }

    /// Signs a payload with the true chain in its header, but with a publicly known key.
    func signedWithUntrustedKey(_ payload: JSON) throws(SigningFailure) -> String {
        let stranger = try Self.untrustedKey.get()
        return try Self(
            key: stranger, certificates: certificates, receipts: receiptSource,
            drawing: .deterministic(DeterministicSignature(stranger))
        ).sign(payload)
    }

    private static let untrustedKey = Result<P256.Signing.PrivateKey, SigningFailure> {
        () throws(SigningFailure) in
        do { return try SeededKeys(seed: .max).leaf } catch {
            throw SigningFailure("The key for forged documents could not be made: \(error)")
        }
    }

    private static func header(_ chain: [[UInt8]], overrides: [JSON.Member]) -> JSON {
        var members: [JSON.Member] = [
            .init("alg", "ES256"), .init("x5c", .array(chain.map { .string(base64($0)) })),
        ]
        for override in overrides {
            members.removeAll { $0.key == override.key }
            if override.value != .null { members.append(override) }
        }
        return .object(members)
    }

    private static func base64(_ bytes: [UInt8]) -> String {
        String(decoding: Base64.standard.encode(bytes), as: UTF8.self)
    }
}

/// The first segment of a JWS and the dot after it. The segment is most of a small document and is
/// the same for all documents of one chain, so it is encoded and hashed once.
private struct JWSHeader: Sendable {
    let bytes: [UInt8]
    private let hash: SHA256

    init(_ header: JSON) {
        bytes = Base64.url.encode(header.bytes) + [UInt8(ascii: ".")]
        var hash = SHA256()
        hash.update(data: bytes)
        self.hash = hash
    }

    /// The hash of the signing input: header, dot and payload.
    func digest(with body: UnsafeRawBufferPointer) -> SHA256.Digest {
        var hash = hash
        hash.update(bufferPointer: body)
        return hash.finalize()
    }
}

/// Why something could not be signed.
package struct SigningFailure: Error, Hashable, Sendable, CustomStringConvertible {
    package let description: String

    package init(_ description: String) { self.description = description }
}
