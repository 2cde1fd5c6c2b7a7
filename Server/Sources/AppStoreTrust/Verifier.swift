import AppStoreFormats
import Crypto
import Foundation
import Synchronization

/// Checks documents that Apple signed as JWS (RFC 7515), against given roots, without a network and
/// without a clock.
///
/// In this order, so that nothing is read that nobody signed: the header's certificates must lead
/// to a root, the signature must fit the leaf's key, and only then is the payload read: the
/// certificates must have been valid when it was signed, it must be for the app expected, from an
/// environment accepted. The third certificate in a header is neither trusted nor compared: two of
/// Apple's own examples carry a root that is not the one published.
package final class Verifier: Sendable {
    /// Bytes of a whole JWS. A notification with its documents has about 13 000.
    package static let jwsBytesMax = 262_144
    /// Bytes of the header's segment. Apple's has about 3 600.
    package static let headerBytesMax = 32_768
    /// How far our clock may be behind Apple's, in milliseconds.
    package static let clockSkewMax: Int64 = 300_000

    let chains: ChainVerifier
    private let known = KnownChains<TrustedChain>()
    let receiptChains = KnownChains<ReceiptChain>()
    let transactionReceiptSigners = KnownChains<PlainCertificate>()
    private let documents: Mutex<KnownDocuments>

    /// Certificates of Xcode's own store that are believed about receipts; nil: none ever is.
    let xcode: TrustRoots?

    /// - Parameter xcode: in development only: the certificates that somebody has exported from
    ///   Xcode. What receipts they have signed counts as of the sandbox. Anybody can sign those.
    /// - Parameter documentsKept: how many verified documents are known again at least.
    package init(
        roots: TrustRoots, xcode: TrustRoots? = nil,
        documentsKept: Int = KnownDocuments.countDefault
    ) {
        chains = ChainVerifier(roots: roots)
        documents = Mutex(KnownDocuments(atLeast: documentsKept))
        self.xcode = xcode
    }

    /// How many chains are remembered, at most ``knownChainsMax``.
    var knownChainCount: Int { known.count }
    var knownDocumentCount: Int { documents.withLock { $0.count } }

    /// A signed transaction, as StoreKit and the App Store Server API give it.
    package func transaction(
        _ jws: [UInt8], for app: AppIdentity, at now: AppStoreDate
    ) async -> Outcome<TransactionPayload> {
        await outcome(of: jws, for: app, at: now)
    }

    /// Signed renewal information. It names no bundle, so only the environment is compared: whoever
    /// uses it must hold it against a verified transaction with the same original transaction id.
    package func renewal(
        _ jws: [UInt8], for app: AppIdentity, at now: AppStoreDate
    ) async -> Outcome<RenewalPayload> {
        await outcome(of: jws, for: app, at: now)
    }

    package func appTransaction(
        _ jws: [UInt8], for app: AppIdentity, at now: AppStoreDate
    ) async -> Outcome<AppTransactionPayload> {
        await outcome(of: jws, for: app, at: now)
    }

    /// A version 2 notification (its `signedPayload`) with the documents inside it. Refused as a
    /// whole where one of them is for another app or from another environment.
    package func notification(
        _ jws: [UInt8], for app: AppIdentity, at now: AppStoreDate
    ) async -> NotificationOutcome {
        Self.contents(of: await outcome(of: jws, for: app, at: now), for: app)
    }

    private static func contents(
        of outer: Outcome<NotificationPayload>, for app: AppIdentity
    ) -> NotificationOutcome {
        switch outer {
        case .refused(let refusal): return .refused(refusal)
        case .cannotTellNow(let uncertainty): return .cannotTellNow(uncertainty)
        case .verified(let notification):
            do throws(Refusal) {
                return .verified(try NotificationContents(of: notification, for: app))
            } catch {
                return .refused(error)
            }
        }
    }
}

extension Verifier {
    /// Last of all, because only what is genuine may be worth another attempt.
    static func outcome<Payload>(
        _ verified: Verified<Payload>, at now: AppStoreDate
    ) -> Outcome<Payload> {
        guard verified.signedAt.milliseconds - now.milliseconds <= clockSkewMax else {
            return .cannotTellNow(Uncertainty(signedAt: verified.signedAt, now: now))
        }
        return .verified(verified)
    }

    private func outcome<Payload: SignedPayload>(
        of jws: [UInt8], for app: AppIdentity, at now: AppStoreDate
    ) async -> Outcome<Payload> {
        do throws(Refusal) {
            return Self.outcome(try await verified(jws, for: app, at: now), at: now)
        } catch {
            return .refused(error)
        }
    }

    private func verified<Payload: SignedPayload>(
        _ jws: [UInt8], for app: AppIdentity, at now: AppStoreDate
    ) async throws(Refusal) -> Verified<Payload> {
        let parts = try CompactJWS(reading: jws)
        if let chain = known[parts.headerSegment] {
            return try verified(parts, by: chain, for: app, at: now)
        }
        let chain = try await chain(for: parts)
        let (payload, digest) = try signedPayload(of: parts, by: chain)
        known.insert(chain, for: parts.headerSegment)
        return try verified(payload, digest, by: chain, for: app, at: now)
    }

    private func verified<Payload: SignedPayload>(
        _ parts: CompactJWS, by chain: TrustedChain, for app: AppIdentity, at now: AppStoreDate
    ) throws(Refusal) -> Verified<Payload> {
        let (payload, digest) = try signedPayload(of: parts, by: chain)
        return try verified(payload, digest, by: chain, for: app, at: now)
    }

    private func verified<Payload: SignedPayload>(
        _ bytes: [UInt8]?, _ digest: DocumentDigest, by chain: TrustedChain, for app: AppIdentity,
        at now: AppStoreDate
    ) throws(Refusal) -> Verified<Payload> {
        guard let bytes else {
            throw Refusal(.payloadUnreadable, expected: "base64url", found: "something else")
        }
        let payload = try Payload(reading: bytes)
        try chain.requireValid(at: payload.signatureDate ?? now)
        let environment = try payload.requireBinding(to: app)
        // Refused, and not dated by our own clock: the same bytes must mean the same whenever they
        // are read.
        guard let signedAt = payload.signatureDate else {
            throw .missing(Payload.signatureDateKey)
        }
        return Verified(
            payload: payload, environment: environment, signedAt: signedAt, digest: digest)
    }

    /// The payload, once the signature over it is known to be made by a chain's leaf; nil where it
    /// is no base64url. And the digest of the document.
    private func signedPayload(
        of parts: CompactJWS, by chain: TrustedChain
    ) throws(Refusal) -> (payload: [UInt8]?, digest: DocumentDigest) {
        let (digest, signed) = DocumentDigest.digests(of: parts)
        if !documents.withLock({ $0.contains(digest.whole) }) {
            try requireSignature(of: parts, by: chain, over: signed)
            documents.withLock { $0.insert(digest.whole) }
        }
        return (parts.payload, digest)
    }

    private func requireSignature(
        of parts: CompactJWS, by chain: TrustedChain, over digest: SHA256.Digest
    ) throws(Refusal) {
        guard let raw = parts.signature,
            let signature = try? P256.Signing.ECDSASignature(rawRepresentation: raw),
            chain.leafKey.isValidSignature(signature, for: digest)
        else {
            throw Refusal(
                .badSignature, expected: "one of its leaf certificate's key",
                found: "a signature that does not fit")
        }
    }

    private func chain(
        for parts: CompactJWS
    ) async throws(Refusal) -> TrustedChain {
        let certificates = try parts.certificates()
        return try await chains.chain(
            leaf: certificates.leaf, intermediate: certificates.intermediate)
    }
}
