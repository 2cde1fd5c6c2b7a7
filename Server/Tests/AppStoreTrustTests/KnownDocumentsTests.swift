import AppStoreFormats
import Crypto
import Signing
import Testing

@testable import AppStoreTrust

@Suite struct KnownDocumentsTests {
    @Test func `a cached document is returned again, and refused if another app is expected`()
        async throws
    {
        let verifier = try Cast.verifier()
        let jws = try Authority.shared.get().signer().jws(Cast.transaction())
        let other = AppIdentity(
            bundleID: "com.example.other", appAppleID: Cast.app.appAppleID,
            environments: Cast.app.environments)
        let first = await verifier.transaction(jws, for: Cast.app, at: Cast.now)
        #expect(verifier.cachedDocumentCount == 1)
        #expect(await verifier.transaction(jws, for: Cast.app, at: Cast.now) == first)
        let foreign = await verifier.transaction(jws, for: other, at: Cast.now)
        #expect(foreign.refusal?.reason == .wrongBundle)
        #expect(first.verified != nil && verifier.cachedDocumentCount == 1)
    }

    @Test func `a document that differs in one byte from a cached one is verified again`()
        async throws
    {
        let verifier = try Cast.verifier()
        let jws = try Authority.shared.get().signer().jws(Cast.transaction())
        _ = await verifier.transaction(jws, for: Cast.app, at: Cast.now)
        let signature = try #require(jws.lastIndex(of: UInt8(ascii: "."))) + 10
        let payload = try #require(jws.firstIndex(of: UInt8(ascii: "."))) + 10
        for place in [signature, payload] {
            var forged = jws
            let (one, two) = (UInt8(ascii: "A"), UInt8(ascii: "B"))
            forged[place] = forged[place] == one ? two : one
            let outcome = await verifier.transaction(forged, for: Cast.app, at: Cast.now)
            #expect(outcome.refusal?.reason == .badSignature)
            let again = await verifier.transaction(forged, for: Cast.app, at: Cast.now)
            #expect(again == outcome, "a document that was refused is refused again")
        }
        #expect(verifier.cachedDocumentCount == 1)
    }

    @Test
    func `the cache of documents has a limit, and documents removed from it are still verified`()
        async throws
    {
        let signer = try Authority.shared.get().signer()
        let roots = try TrustRoots(der: [Authority.shared.get().root.der])
        let verifier = AppStoreTrust.Verifier(roots: roots, documentsKept: 3)
        let documents = try (0..<10).map { try signer.jws(Cast.transaction(bundle: "b\($0)")) }
        for (number, jws) in (documents + documents).enumerated() {
            let outcome = await verifier.transaction(jws, for: Cast.app, at: Cast.now)
            #expect(outcome.refusal?.reason == .wrongBundle)
            #expect((min(number + 1, 3)...6).contains(verifier.cachedDocumentCount))
        }
    }

    @Test func `a verifier with a cache size of zero caches no document`() async throws {
        let roots = try TrustRoots(der: [Authority.shared.get().root.der])
        let verifier = AppStoreTrust.Verifier(roots: roots, documentsKept: 0)
        let jws = try Authority.shared.get().signer().jws(Cast.transaction())
        for _ in 0..<2 {
            let outcome = await verifier.transaction(jws, for: Cast.app, at: Cast.now)
            #expect(outcome.verified != nil && verifier.cachedDocumentCount == 0)
        }
    }
}
