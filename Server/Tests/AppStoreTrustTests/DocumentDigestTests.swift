import AppStoreFormats
import Signing
import Testing

@testable import AppStoreTrust

/// The digest that identifies a document covers the signed bytes only.
@Suite struct DocumentDigestTests {
    private static func receiptVerifier() throws -> AppStoreTrust.Verifier {
        try AppStoreTrust.Verifier(roots: TrustRoots(der: [ReceiptMaker.shared.get().root.der]))
    }

    @Test func `a JWS has the same digest with either of its two valid ECDSA signatures`()
        async throws
    {
        let jws = try Authority.shared.get().signer().jws(Cast.transaction())
        let other = try #require(OtherSignature.jws(jws))
        let verifier = try Cast.verifier()
        let one = try #require(
            await verifier.transaction(jws, for: Cast.app, at: Cast.now).verified)
        let two = try #require(
            await verifier.transaction(other, for: Cast.app, at: Cast.now).verified)
        #expect(jws != other && one.digest.whole != two.digest.whole)
        #expect(one.digest.signed == two.digest.signed)
        #expect(DocumentDigest(jws: other) == two.digest)
    }

    @Test func `a document with a wrong signature is refused although its digest is the same`()
        async throws
    {
        let jws = try Authority.shared.get().signer().jws(Cast.transaction())
        let verifier = try Cast.verifier()
        #expect(await verifier.transaction(jws, for: Cast.app, at: Cast.now).verified != nil)
        var forged = try #require(CompactJWS(jws)?.signature)
        forged[40] ^= 1
        let text =
            Array(try #require(CompactJWS(jws)).signedBytes) + [UInt8(ascii: ".")]
            + Base64.url.encode(forged)
        #expect(DocumentDigest(jws: text)?.signed == DocumentDigest(jws: jws)?.signed)
        let refused = await verifier.transaction(text, for: Cast.app, at: Cast.now)
        #expect(refused.refusal?.reason == .badSignature)
    }

    @Test func `a JWS with another payload or other certificates has a different digest`()
        throws
    {
        let authority = try Authority.shared.get()
        let signer = try authority.signer()
        let digests = try [
            signer.jws(Cast.transaction()), signer.jws(Cast.transaction(original: "1002")),
            authority.signer().jws(Cast.transaction()),
        ].map { DocumentDigest(jws: $0)?.signed }
        #expect(Set(digests).count == 3 && !digests.contains(nil))
        #expect(DocumentDigest(jws: Array("no.jws".utf8)) == nil)
    }

    @Test func `unsigned parts of a receipt's file do not change its digest`() async throws {
        let maker = try ReceiptMaker.shared.get()
        let verifier = try Self.receiptVerifier()
        let parts = try maker.parts(ReceiptMaker.payload())
        let file = try maker.file(parts)
        var older = parts
        older.digest = ReceiptMaker.Parts.sha1
        let files = try [file, maker.file(older)] + ReceiptVariants.files(of: file)
        #expect(files.count == 6)
        var digests: Set<[UInt8]> = []
        for file in files {
            let outcome = await verifier.receipt(file, for: Cast.app, at: Cast.now)
            let verified = try #require(outcome.verified, "\(String(describing: outcome.refusal))")
            digests.insert(verified.digest.signed)
            #expect(DocumentDigest(appReceipt: file) == verified.digest)
        }
        #expect(digests.count == 1)
        #expect(Set(files.map { DocumentDigest(appReceipt: $0)?.whole }).count == files.count)
    }

    @Test func `a receipt with other content or another signer has a different digest`() throws {
        let maker = try ReceiptMaker.shared.get()
        let files = try [
            maker.file(ReceiptMaker.payload()),
            maker.file(ReceiptMaker.payload(type: "ProductionSandbox")),
            maker.file(ReceiptMaker.payload(), leaf: maker.leaf()),
        ]
        #expect(Set(files.map { DocumentDigest(appReceipt: $0)?.signed }).count == 3)
        #expect(DocumentDigest(appReceipt: [0x30, 0]) == nil)
    }

    @Test func `the number of unsigned bytes in a receipt is known before verification`() throws {
        let maker = try ReceiptMaker.shared.get()
        var parts = try maker.parts(ReceiptMaker.payload())
        let unsigned = AppStoreTrust.Verifier.unsignedBytes(inReceipt: try maker.file(parts))
        #expect(try #require(unsigned) < 5_000)
        parts.certificates.append(ReceiptMaker.element(0x30, [UInt8](repeating: 0, count: 70_000)))
        let large = AppStoreTrust.Verifier.unsignedBytes(inReceipt: try maker.file(parts))
        let most = AppStoreTrust.Verifier.unsignedReceiptBytesMax
        #expect(try #require(large) > most)
    }
}
