import AppStoreFormats
import Signing
import Testing

@testable import AppStoreTrust

/// A verifier must return the same result whether or not it has cached the signer of a receipt.
@Suite struct KnownReceiptChainsTests {
    private func verifier() throws -> AppStoreTrust.Verifier {
        try AppStoreTrust.Verifier(roots: TrustRoots(der: [ReceiptMaker.shared.get().root.der]))
    }

    private func verifierThatKnows(_ file: [UInt8]) async throws -> AppStoreTrust.Verifier {
        let verifier = try verifier()
        #expect(await verifier.receipt(file, for: Cast.app, at: Cast.now).verified != nil)
        #expect(verifier.receiptChains.count == 1)
        return verifier
    }

    @Test
    func `a receipt with a changed byte gets the same result with and without a cached signer`()
        async throws
    {
        let file = try ReceiptMaker.shared.get().file(ReceiptMaker.payload())
        let knowing = try await verifierThatKnows(file)
        for offset in stride(from: 0, to: file.count, by: 41) {
            var changed = file
            changed[offset] ^= 0x55
            let fresh = try await verifier().receipt(changed, for: Cast.app, at: Cast.now)
            let known = await knowing.receipt(changed, for: Cast.app, at: Cast.now)
            #expect(known == fresh, "changed at \(offset)")
        }
    }

    @Test func `a cached signer is found only by its name and all of its certificates`()
        async throws
    {
        let maker = try ReceiptMaker.shared.get()
        let parts = try maker.parts(ReceiptMaker.payload())
        let knowing = try await verifierThatKnows(try maker.file(parts))
        var withoutMiddle = parts
        withoutMiddle.certificates.remove(at: 1)
        var ofAnother = parts
        ofAnother.issuer = maker.intermediate
        for bad in [withoutMiddle, ofAnother] {
            let outcome = await knowing.receipt(
                try maker.file(bad), for: Cast.app, at: Cast.now)
            #expect(outcome.verified == nil)
        }
        #expect(knowing.receiptChains.count == 1)
    }

    @Test func `a cached signer must have been valid when the receipt was made`() async throws {
        let maker = try ReceiptMaker.shared.get()
        let knowing = try await verifierThatKnows(try maker.file(ReceiptMaker.payload()))
        let leaf = try maker.leaf(valid: .year2020 ..< .year2025)
        let old = try maker.file(ReceiptMaker.payload(created: .year2025 + -86_400), leaf: leaf)
        let late = try maker.file(ReceiptMaker.payload(), leaf: leaf)
        #expect(await knowing.receipt(old, for: Cast.app, at: Cast.now).verified != nil)
        #expect(
            await knowing.receipt(late, for: Cast.app, at: Cast.now).refusal?.reason
                == .notValidAtSigning)
    }

    @Test func `certificates that an attacker adds to a receipt are not cached`() async throws {
        let maker = try ReceiptMaker.shared.get()
        var parts = try maker.parts(ReceiptMaker.payload())
        let knowing = try await verifierThatKnows(try maker.file(parts))
        let genuine = parts.certificates
        let stranger = try ReceiptMaker().root.der
        for certificates in [genuine + [stranger], genuine.dropLast() + [stranger]] {
            parts.certificates = certificates
            let file = try maker.file(parts)
            #expect(await knowing.receipt(file, for: Cast.app, at: Cast.now).verified != nil)
            #expect(knowing.receiptChains.count == 1)
        }
        parts.certificates = genuine.reversed()
        let turned = try maker.file(parts)
        #expect(await knowing.receipt(turned, for: Cast.app, at: Cast.now).verified != nil)
        #expect(knowing.receiptChains.count == 2)
    }

    @Test func `a receipt with a wrong signature leaves no signer in the cache`() async throws {
        let maker = try ReceiptMaker.shared.get()
        var parts = try maker.parts(ReceiptMaker.payload())
        let genuine = try maker.file(parts)
        let place = try #require(
            genuine.indices.first { genuine[$0...].starts(with: Array(Cast.bundleID.utf8)) })
        var forged = genuine
        forged[place] ^= 1
        let verifier = try verifier()
        let outcome = await verifier.receipt(forged, for: Cast.app, at: Cast.now)
        #expect(outcome.refusal?.reason == .badSignature)
        #expect(verifier.receiptChains.count == 0)
        parts.certificates = try ReceiptMaker().parts(ReceiptMaker.payload()).certificates
        _ = await verifier.receipt(try maker.file(parts), for: Cast.app, at: Cast.now)
        #expect(verifier.receiptChains.count == 0)
    }
}
