import AppStoreFormats
import Signing
import Testing

@testable import AppStoreTrust

@Suite struct TrustRootsTests {
    @Test func `Apple's embedded roots have the fingerprints that Apple publishes`() {
        #expect(
            TrustRoots.apple.fingerprints == [
                "63343abfb89a6a03ebb57e9b3f5fa7be7c4f5c756f3017b3a8c488c3653e9179",
                "b0b1730ecbc7ff4505142c49f1295e6eda6bcaed7e2c68c5be91b5a11001f024",
                "c2b9b042dd57830e7d117dac55ac8ae19407d38e41d88f3215bc3a890444a050",
            ])
    }

    @Test func `an additional root is trusted only by the verifier that was given the root`()
        async throws
    {
        let authority = try Authority.shared.get()
        let own = try TrustRoots(der: [authority.root.der])
        #expect(TrustRoots.apple.adding(own).fingerprints.count == 4)
        let jws = try authority.signer().jws(Cast.transaction())
        let withOwn = AppStoreTrust.Verifier(roots: .apple.adding(own))
        let accepted = await withOwn.transaction(jws, for: Cast.app, at: Cast.now)
        #expect(accepted.verified != nil)
        let appleOnly = AppStoreTrust.Verifier(roots: .apple)
        let refused = await appleOnly.transaction(jws, for: Cast.app, at: Cast.now)
        #expect(refused.refusal?.reason == .untrustedChain)
    }

    @Test func `bytes that are not a certificate are refused as a root`() {
        #expect(throws: Refusal.self) { try TrustRoots(der: [[1, 2, 3]]) }
    }
}
