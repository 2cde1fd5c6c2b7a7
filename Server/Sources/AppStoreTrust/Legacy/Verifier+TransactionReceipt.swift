import AppStoreFormats
import SwiftASN1
import X509
import _CryptoExtras

extension Verifier {
    /// Verifies a transaction receipt, as apps before iOS 7 received them.
    ///
    /// The receipt says when the purchase was made, but not when it was signed, which may be years
    /// later. So its signer's certificate must not have expired before the purchase. The receipt
    /// counts as signed at the time of the purchase, so that everything else known about the
    /// purchase is newer.
    package func transactionReceipt(
        _ file: [UInt8], for app: AppIdentity, at now: AppStoreDate
    ) async -> VerificationOutcome<TransactionReceipt> {
        do throws(Refusal) {
            let parts = try TransactionReceiptParts(reading: file)
            let remembered = transactionReceiptSigners[parts.signature.certificate[...]]
            let signer: RSACertificate
            if let remembered {
                signer = remembered
            } else {
                signer = try await chains.signer(of: parts.signature)
            }
            guard signer.key.hasSigned(parts.signedBytes, as: parts.signature.signature, .sha1)
            else {
                throw Refusal(
                    .badSignature, expected: "a signature by its signer's key",
                    found: "a signature that does not match")
            }
            if remembered == nil {
                transactionReceiptSigners.insert(signer, for: parts.signature.certificate[...])
            }
            let receipt = try parts.receipt()
            guard let purchased = receipt.purchased else { throw .missing("purchase date") }
            guard purchased <= signer.validUntil else {
                throw Refusal(
                    .notValidAtSigning, expected: "a moment until \(signer.validUntil.text)",
                    found: purchased.text)
            }
            try app.requireBundle(receipt.bundleID)
            let environment = try app.requireEnvironment(parts.storeEnvironment)
            try receipt.requireSignedApp(app, in: environment)
            return Self.outcome(
                Verified(
                    payload: receipt, environment: environment, signedAt: purchased,
                    digest: DocumentDigest(parts, by: signer, file)),
                at: now)
        } catch {
            var refusal = error
            refusal.subject = .receipt
            return .refused(refusal)
        }
    }
}

extension TransactionReceipt {
    /// Requires that a production receipt contains the app's Apple id, which only production
    /// receipts have in their signed part. The environment is outside of the signed part, so
    /// anybody could remove the word Sandbox from a file.
    fileprivate func requireSignedApp(
        _ app: AppIdentity, in environment: StoreEnvironment
    ) throws(Refusal) {
        guard environment == .production else { return }
        guard let appItemID else { throw .missing("app-item-id of production") }
        try app.requireAppleID(Int64(appItemID), in: environment)
    }
}

/// The file and the signature in it, parsed but not trusted.
struct TransactionReceiptParts {
    let file: TransactionReceiptFile
    let signature: TransactionReceiptSignature

    var signedBytes: [UInt8] { [signature.version] + file.signedBytes }
    var storeEnvironment: StoreEnvironment { file.environment ?? .production }

    init(reading bytes: [UInt8]) throws(Refusal) {
        do throws(ReceiptFailure) {
            file = try TransactionReceiptFile(parsing: bytes)
            signature = try TransactionReceiptSignature(parsing: file.signature)
        } catch { throw Refusal(unreadable: error) }
    }

    fileprivate func receipt() throws(Refusal) -> TransactionReceipt {
        do throws(ReceiptFailure) {
            return try TransactionReceipt(signedBytes: file.signedBytes)
        } catch { throw Refusal(unreadable: error) }
    }
}

extension ChainVerifier {
    /// Apple's marker extensions of the certificate that signs transaction receipts, and of the
    /// authority above it.
    private static let purchaseMarker: ASN1ObjectIdentifier = [1, 2, 840, 113635, 100, 6, 5, 1]
    private static let storeMarker: ASN1ObjectIdentifier = [1, 2, 840, 113635, 100, 6, 2, 2]

    /// Returns the certificate of a transaction receipt's signer, after checking that it leads to a
    /// root. It leads to Apple's root through Apple's intermediate of those years, and to any other
    /// root directly.
    fileprivate func signer(
        of signature: TransactionReceiptSignature
    ) async throws(Refusal) -> RSACertificate {
        let leaf = try Self.plain(signature.certificate)
        guard leaf.extensions.contains(Self.purchaseMarker) else {
            throw Refusal(
                .missingMarker, expected: "Apple's marker \(Self.purchaseMarker) there",
                found: "no marker in its leaf certificate")
        }
        let store = try AppleIntermediates.iTunesStore.get()
        if leaf.isSigned(by: store) {
            try await requireRoot(of: store)
            try store.requireMarker(Self.storeMarker, named: "intermediate")
            return leaf
        }
        let apples = Set(TrustRoots.apple.certificates)
        guard rootCertificates.contains(where: { !apples.contains($0) && leaf.isSigned(by: $0) })
        else { throw untrusted("an authority that is not known") }
        return leaf
    }

    private static func plain(_ der: [UInt8]) throws(Refusal) -> RSACertificate {
        guard der.count <= Certificate.bytesMax else {
            throw Refusal(
                .certificateUnreadable, expected: "at most \(Certificate.bytesMax)",
                found: "a certificate of \(der.count) bytes")
        }
        do throws(ReceiptFailure) { return try RSACertificate(parsing: der) } catch {
            throw Refusal(unreadable: error)
        }
    }

    private func requireRoot(
        of intermediate: Certificate
    ) async throws(Refusal) {
        guard
            rootCertificates.contains(where: {
                $0.subject == intermediate.issuer
                    && $0.publicKey.isValidSignature(intermediate.signature, for: intermediate)
            })
        else { throw untrusted("\(intermediate.issuer)") }
    }
}

extension RSACertificate {
    fileprivate func isSigned(by authority: Certificate) -> Bool {
        guard let key = _RSA.Signing.PublicKey(authority.publicKey),
            let node = try? DER.parse(Array(issuer)),
            (try? DistinguishedName(derEncoded: node)) == authority.subject
        else { return false }
        return key.hasSigned(Array(signedBytes), as: Array(signature), digest)
    }
}
