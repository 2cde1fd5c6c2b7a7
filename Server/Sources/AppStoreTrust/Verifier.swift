import AppStoreFormats
import Crypto
import Foundation
import Synchronization

/// Verifies documents that Apple signed as JWS (RFC 7515) against given roots, without network
/// access and without a clock.
///
/// The order of the steps ensures that only signed content is read. The header's certificates must
/// lead to a root, the signature must match the leaf's key, and only then is the payload read. The
/// certificates must have been valid when the payload was signed. The payload must be for the
/// expected app and from an accepted environment. The third certificate in a header is neither
/// trusted nor compared: two of Apple's own examples contain a root that differs from the published
/// one.
package final class Verifier: Sendable {
    /// The maximum size of a JWS in bytes. A notification with its documents has about 13 000.
    package static let jwsBytesMax = 262_144
    /// The maximum size of the header segment in bytes. Apple's has about 3 600.
    package static let headerBytesMax = 32_768
    /// The maximum size of an app receipt in bytes. A receipt of 5,004,203 bytes was seen: finished
    /// consumables of old SDKs and every renewal stay in the file, so loyal customers have the
    /// largest files.
    package static let receiptBytesMax = 8_388_608
    /// How far our clock may be behind Apple's, in milliseconds.
    package static let clockSkewMax: Int64 = 300_000

    let chains: ChainVerifier
    private let chainCache = ChainCache<TrustedChain>()
    let receiptChains = ChainCache<ReceiptChain>()
    let transactionReceiptSigners = ChainCache<RSACertificate>()
    private let documentCache: Mutex<VerifiedDocumentCache>

    /// Certificates of Xcode's local StoreKit testing that are accepted for receipts. Nil if none
    /// are accepted.
    let xcode: TrustRoots?

    /// - Parameter xcode: certificates exported from Xcode, for development only. Receipts signed
    ///   with them count as sandbox receipts, and anybody can sign such receipts.
    /// - Parameter documentsKept: the minimum number of recent verified documents that are cached.
    package init(
        roots: TrustRoots, xcode: TrustRoots? = nil,
        documentsKept: Int = VerifiedDocumentCache.countDefault
    ) {
        chains = ChainVerifier(roots: roots)
        documentCache = Mutex(VerifiedDocumentCache(atLeast: documentsKept))
        self.xcode = xcode
    }

    /// The number of cached chains, at most ``cachedChainsMax``.
    var cachedChainCount: Int { chainCache.count }
    var cachedDocumentCount: Int { documentCache.withLock { $0.count } }

    /// Verifies a signed transaction, as StoreKit and the App Store Server API provide it.
    package func transaction(
        _ jws: [UInt8], for app: AppIdentity, at now: AppStoreDate
    ) async -> VerificationOutcome<TransactionPayload> {
        await outcome(of: jws, for: app, at: now)
    }

    /// Verifies signed renewal info. Renewal info names no bundle, so only the environment is
    /// compared: callers must compare the renewal info with a verified transaction that has the
    /// same original transaction id.
    package func renewal(
        _ jws: [UInt8], for app: AppIdentity, at now: AppStoreDate
    ) async -> VerificationOutcome<RenewalPayload> {
        await outcome(of: jws, for: app, at: now)
    }

    package func appTransaction(
        _ jws: [UInt8], for app: AppIdentity, at now: AppStoreDate
    ) async -> VerificationOutcome<AppTransactionPayload> {
        await outcome(of: jws, for: app, at: now)
    }

    /// Verifies a version 2 notification (its `signedPayload`) with the documents inside it.
    /// Refuses the notification as a whole if one of its documents is for another app or from
    /// another environment.
    package func notification(
        _ jws: [UInt8], for app: AppIdentity, at now: AppStoreDate
    ) async -> NotificationOutcome {
        Self.contents(of: await outcome(of: jws, for: app, at: now), for: app)
    }

    private static func contents(
        of outer: VerificationOutcome<NotificationPayload>, for app: AppIdentity
    ) -> NotificationOutcome {
        switch outer {
        case .refused(let refusal): return .refused(refusal)
        case .clockMismatch(let uncertainty): return .clockMismatch(uncertainty)
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
    /// Compares the date of signing with our clock. This check is the last one, because only a
    /// genuine document may be worth another attempt.
    static func outcome<Payload>(
        _ verified: Verified<Payload>, at now: AppStoreDate
    ) -> VerificationOutcome<Payload> {
        guard verified.signedAt.milliseconds - now.milliseconds <= clockSkewMax else {
            return .clockMismatch(ClockMismatch(signedAt: verified.signedAt, now: now))
        }
        return .verified(verified)
    }

    private func outcome<Payload: SignedPayload>(
        of jws: [UInt8], for app: AppIdentity, at now: AppStoreDate
    ) async -> VerificationOutcome<Payload> {
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
        if let chain = chainCache[parts.headerSegment] {
            return try verified(parts, by: chain, for: app, at: now)
        }
        let chain = try await chain(for: parts)
        let (payload, digest) = try signedPayload(of: parts, by: chain)
        chainCache.insert(chain, for: parts.headerSegment)
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
            throw Refusal(.payloadUnreadable, expected: "base64url", found: "not base64url")
        }
        let payload = try Payload(reading: bytes)
        try chain.requireValid(at: payload.signatureDate ?? now)
        let environment = try payload.requireBinding(to: app)
        // The document is refused instead of being dated by our own clock, because the same bytes
        // must mean the same whenever they are read.
        guard let signedAt = payload.signatureDate else {
            throw .missing(Payload.signatureDateKey)
        }
        return Verified(
            payload: payload, environment: environment, signedAt: signedAt, digest: digest)
    }

    /// Verifies the signature with the key of a chain's leaf, and returns the payload with the
    /// digest of the document. The payload is nil if it is not base64url.
    private func signedPayload(
        of parts: CompactJWS, by chain: TrustedChain
    ) throws(Refusal) -> (payload: [UInt8]?, digest: DocumentDigest) {
        let (digest, signed) = DocumentDigest.digests(of: parts)
        if !documentCache.withLock({ $0.contains(digest.whole) }) {
            try requireSignature(of: parts, by: chain, over: signed)
            documentCache.withLock { $0.insert(digest.whole) }
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
                .badSignature, expected: "a signature by its leaf certificate's key",
                found: "a signature that does not match")
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
