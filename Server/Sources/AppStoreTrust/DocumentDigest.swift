import AppStoreFormats
import Crypto

/// By what a document is known, as SHA-256: 32 bytes each.
///
/// No signature covers a whole document. Whoever has a receipt can add certificates to its file,
/// and whoever has a JWS can replace its signature (r, s) by (r, n − s), which fits as well. So a
/// document is known by what is signed and by whose key: all its variants have one digest.
package struct DocumentDigest: Hashable, Sendable {
    /// Of what is signed, with the name of the signer: of a JWS the bytes before its last dot. Of
    /// what nobody signs, the same as `whole`.
    package let signed: [UInt8]
    /// Of the document as it came. Earlier versions used it as the document's id.
    package let whole: [UInt8]

    init(signed: [UInt8], whole: [UInt8]) {
        self.signed = signed
        self.whole = whole
    }

    /// - Parameter identity: what is the same in all copies of a document that nobody signs.
    package init(unsigned identity: [UInt8]) {
        whole = Array(SHA256.hash(data: identity))
        signed = whole
    }

    /// Nil for what is no JWS in compact form.
    package init?(jws: [UInt8]) {
        guard let parts = CompactJWS(jws) else { return nil }
        self = Self.digests(of: parts).document
    }

    /// The digest of a JWS, and what its signature is compared with.
    static func digests(of jws: CompactJWS) -> (document: Self, signed: SHA256.Digest) {
        // Hashed once: the digest of the whole goes on where that of the signed bytes ends.
        var hash = SHA256()
        hash.update(data: jws.signedBytes)
        let signed = hash.finalize()
        hash.update(data: dot)
        hash.update(data: jws.signatureSegment)
        return (Self(signed: Array(signed), whole: Array(hash.finalize())), signed)
    }

    private static let dot = [UInt8(ascii: ".")]

    /// An app receipt; nil for what is none.
    package init?(appReceipt file: [UInt8]) {
        if let xcode = XcodeReceipt(file), xcode.isOfXcode {
            self.init(xcode, file)
        } else if let envelope = try? ReceiptEnvelope(parsing: file) {
            self.init(envelope, file)
        } else {
            return nil
        }
    }

    /// A transaction receipt; nil for what is none.
    package init?(transactionReceipt file: [UInt8]) {
        guard let parts = try? TransactionReceiptParts(reading: file),
            let signer = try? PlainCertificate(parsing: parts.signature.certificate)
        else { return nil }
        self.init(parts, by: signer, file)
    }

    /// The issuer and the number say whose key it is. The certificates themselves do not count:
    /// parts of them are signed by nobody.
    init(_ envelope: ReceiptEnvelope, _ file: [UInt8]) {
        self.init(signed: [envelope.issuer, envelope.serialNumber, envelope.content], file)
    }

    init(_ receipt: XcodeReceipt, _ file: [UInt8]) {
        self.init(signed: [receipt.certificate, receipt.content[...]], file)
    }

    /// The environment stands outside of what is signed, and yet decides what the receipt counts
    /// for.
    init(_ parts: TransactionReceiptParts, by signer: PlainCertificate, _ file: [UInt8]) {
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
