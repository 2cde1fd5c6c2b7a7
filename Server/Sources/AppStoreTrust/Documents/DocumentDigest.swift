import AppStoreFormats
import Crypto

/// Identifies a document by SHA-256 digests of 32 bytes each.
///
/// No signature covers a whole document. Anyone with a receipt can add certificates to its file,
/// and anyone with a JWS can replace its signature (r, s) by (r, n − s), which is also valid. So a
/// document is identified by its signed part and by the signer's key: all its variants have the
/// same digest.
package struct DocumentDigest: Hashable, Sendable {
    /// The digest of the signed part, together with the signer's name. For a JWS, this is the
    /// digest of the bytes before the last dot. For a document that is not signed, it equals
    /// `whole`.
    package let signed: [UInt8]
    /// The digest of the document as received.
    package let whole: [UInt8]

    init(signed: [UInt8], whole: [UInt8]) {
        self.signed = signed
        self.whole = whole
    }

    /// - Parameter identity: the bytes that are the same in all copies of an unsigned document.
    package init(unsigned identity: [UInt8]) {
        whole = Array(SHA256.hash(data: identity))
        signed = whole
    }

    /// Returns nil if the bytes are not a JWS in compact form.
    package init?(jws: [UInt8]) {
        guard let parts = CompactJWS(jws) else { return nil }
        self = Self.digests(of: parts).document
    }

    /// The digest of a JWS, and the hash that its signature is verified against.
    static func digests(of jws: CompactJWS) -> (document: Self, signed: SHA256.Digest) {
        // Each byte is hashed once: the digest of the whole document continues where the digest of
        // the signed bytes ends.
        var hash = SHA256()
        hash.update(data: jws.signedBytes)
        let signed = hash.finalize()
        hash.update(data: dot)
        hash.update(data: jws.signatureSegment)
        return (Self(signed: Array(signed), whole: Array(hash.finalize())), signed)
    }

    private static let dot = [UInt8(ascii: ".")]

    /// The digest of an app receipt. Returns nil if the file is not an app receipt.
    package init?(appReceipt file: [UInt8]) {
        if let xcode = XcodeReceipt(file), xcode.isFromXcode {
            self.init(xcode, file)
        } else if let envelope = try? ReceiptEnvelope(parsing: file) {
            self.init(envelope, file)
        } else {
            return nil
        }
    }

    /// The digest of a transaction receipt. Returns nil if the file is not a transaction receipt.
    package init?(transactionReceipt file: [UInt8]) {
        guard let parts = try? TransactionReceiptParts(reading: file),
            let signer = try? RSACertificate(parsing: parts.signature.certificate)
        else { return nil }
        self.init(parts, by: signer, file)
    }

    /// Makes the digest of a receipt. The issuer and the serial number identify the key. The
    /// certificates themselves are left out, because parts of them are not signed.
    init(_ envelope: ReceiptEnvelope, _ file: [UInt8]) {
        self.init(signed: [envelope.issuer, envelope.serialNumber, envelope.content], file)
    }

    init(_ receipt: XcodeReceipt, _ file: [UInt8]) {
        self.init(signed: [receipt.certificate, receipt.content[...]], file)
    }

    /// Makes the digest of a transaction receipt. The environment is included: it is outside of the
    /// signed part, but decides what the receipt is valid for.
    init(_ parts: TransactionReceiptParts, by signer: RSACertificate, _ file: [UInt8]) {
        let environment = parts.storeEnvironment.rawValue + "\n"
        self.init(
            signed: [
                signer.issuer, signer.serialNumber, Array(environment.utf8)[...],
                parts.signedBytes[...],
            ], file)
    }

    private init(signed parts: [ArraySlice<UInt8>], _ file: [UInt8]) {
        var hash = SHA256()
        for part in parts { hash.update(data: part) }
        self.init(signed: Array(hash.finalize()), whole: Array(SHA256.hash(data: file)))
    }
}
