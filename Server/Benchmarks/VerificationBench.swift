import AppStoreFormats
import AppStoreTrust
import Crypto
import Simulator
import SwiftASN1
import X509

/// Measures the verification of signed transactions, compared with the bare arithmetic on the same
/// bytes.
struct VerificationBench {
    private static let documents = 64

    let bench: BenchFolder
    let identity = AppIdentity(
        bundleID: ExampleShop.bundleID, appAppleID: ExampleShop.appAppleID,
        environments: [.production])

    init(_ bench: BenchFolder) { self.bench = bench }

    func measure() async throws -> [Measured] {
        let maker = DocumentMaker(authority: bench.authority)
        let jws = try (0..<Self.documents).map {
            Array(try maker.signedTransaction(.init(number: $0, period: 0)).utf8)
        }
        return [try await known(jws), try await new(jws)]
    }

    private func known(_ jws: [[UInt8]]) async throws -> Measured {
        let count = bench.count(4000, quick: 1000)
        let raw = try jws.map(RawSignature.init)
        // The verifier does not remember documents, so each one is verified.
        let verifier = AppStoreTrust.Verifier(
            roots: try TrustRoots(der: [bench.authority.rootDER]), documentsKept: 0)
        var (ratios, ours, limits): ([Double], [Double], [Double]) = ([], [], [])
        for _ in 0..<bench.count(9, quick: 3) {
            let start = Effort.ofThisThread
            for index in 0..<count { try await check(jws[index % jws.count], by: verifier) }
            let middle = Effort.ofThisThread
            for index in 0..<count { try raw[index % raw.count].check() }
            let end = Effort.ofThisThread
            ratios.append((end - middle) / (middle - start))
            ours.append((middle - start) / Double(count))
            limits.append((end - middle) / Double(count))
        }
        return Measured(
            line: .verifyKnown, value: ratios.median,
            behind: "\(ours.median.microseconds) ÷ \(limits.median.microseconds) of raw P-256, "
                + "transaction of \(jws[0].count) bytes")
    }

    private func new(_ jws: [[UInt8]]) async throws -> Measured {
        let count = bench.count(300, quick: 100)
        let raw = try jws.map(RawSignature.init)
        let links = try RawChain(bench.authority.certificates)
        let roots = try TrustRoots(der: [bench.authority.rootDER])
        var (ratios, ours, limits): ([Double], [Double], [Double]) = ([], [], [])
        for _ in 0..<bench.count(9, quick: 3) {
            // No verifier knows the chain yet.
            let verifiers = (0..<count).map { _ in AppStoreTrust.Verifier(roots: roots) }
            let start = Effort.ofThisThread
            for index in 0..<count { try await check(jws[index % jws.count], by: verifiers[index]) }
            let middle = Effort.ofThisThread
            for index in 0..<count {
                try links.check()
                try raw[index % raw.count].check()
            }
            let end = Effort.ofThisThread
            ratios.append((end - middle) / (middle - start))
            ours.append((middle - start) / Double(count))
            limits.append((end - middle) / Double(count))
        }
        return Measured(
            line: .verifyNew, value: ratios.median,
            behind: "\(ours.median.microseconds) ÷ \(limits.median.microseconds) of three raw")
    }

    // Stays on the caller's thread, because its time is measured. Nothing in it waits.
    private nonisolated(nonsending) func check(_ jws: [UInt8], by verifier: AppStoreTrust.Verifier)
        async throws
    {
        let outcome = await verifier.transaction(jws, for: identity, at: DocumentMaker.now)
        guard case .verified = outcome else { throw BenchFailure("not verified: \(outcome)") }
    }
}

/// A document's own signature in the library's form, without any other checks.
struct RawSignature: Sendable {
    private let key: P256.Signing.PublicKey
    private let signature: P256.Signing.ECDSASignature
    private let signed: [UInt8]

    init(_ jws: [UInt8]) throws {
        guard let parts = CompactJWS(jws), let header = parts.header, let raw = parts.signature,
            let leaf = try JWSHeader(parsing: header).certificates?.first,
            let der = Base64.standard.decode(leaf.utf8),
            let key = P256.Signing.PublicKey(try Certificate(derEncoded: der).publicKey)
        else { throw BenchFailure("a document we made is not a P-256 JWS") }
        self.key = key
        signature = try P256.Signing.ECDSASignature(rawRepresentation: raw)
        signed = Array(parts.signedBytes)
    }

    func check() throws {
        guard key.isValidSignature(signature, for: SHA256.hash(data: signed)) else {
            throw BenchFailure("a raw signature is invalid")
        }
    }

    /// Returns this thread's processor time per verification, in seconds: the average over many.
    static func seconds(of signatures: [RawSignature], count: Int) throws -> Double {
        let start = Effort.ofThisThread
        for index in 0..<count { try signatures[index % signatures.count].check() }
        return (Effort.ofThisThread - start) / Double(count)
    }
}

/// The two P-384 signatures of a document's chain: root over intermediate, and intermediate over
/// leaf.
private struct RawChain {
    private var links:
        [(key: P384.Signing.PublicKey, signature: P384.Signing.ECDSASignature, [UInt8])]

    /// - Parameter chain: leaf, intermediate, and root, in DER.
    init(_ chain: [[UInt8]]) throws {
        links = []
        for (subject, issuer) in zip(chain, chain.dropFirst()) {
            guard let key = P384.Signing.PublicKey(try Certificate(derEncoded: issuer).publicKey)
            else { throw BenchFailure("an authority's key is not a P-384 key") }
            let (signed, signature) = try Self.parts(of: subject)
            links.append(
                (key, try P384.Signing.ECDSASignature(derRepresentation: signature), signed))
        }
    }

    /// Splits a certificate according to RFC 5280, section 4.1: the signed part, the algorithm, the
    /// signature.
    private static func parts(of certificate: [UInt8]) throws -> (signed: [UInt8], [UInt8]) {
        try DER.sequence(try DER.parse(certificate), identifier: .sequence) { nodes in
            guard let signed = nodes.next(), nodes.next() != nil, let last = nodes.next() else {
                throw BenchFailure("a certificate does not have three parts")
            }
            let signature = try ASN1BitString(derEncoded: last)
            return (Array(signed.encodedBytes), Array(signature.bytes))
        }
    }

    func check() throws {
        for (key, signature, signed) in links {
            guard key.isValidSignature(signature, for: SHA384.hash(data: signed)) else {
                throw BenchFailure("a raw certificate signature is invalid")
            }
        }
    }
}
