import AppStoreFormats
import Crypto
import Signing
import Testing

@testable import AppStoreTrust

@Suite struct KnownChainsTests {
    @Test func `a chain is cached once, and the cache does not change the result`()
        async throws
    {
        let signer = try Authority.shared.get().signer()
        let verifier = try Cast.verifier()
        let payloads = [
            Cast.transaction(), Cast.transaction(bundle: "other"),
            Cast.transaction(environment: "Xcode"), Cast.transaction(signed: .year2028),
            Cast.transaction(signed: nil), ["not": "ours"],
        ]
        for payload in payloads {
            let jws = try signer.jws(payload)
            let fresh = try await Cast.verifier().transaction(jws, for: Cast.app, at: Cast.now)
            let first = await verifier.transaction(jws, for: Cast.app, at: Cast.now)
            let again = await verifier.transaction(jws, for: Cast.app, at: Cast.now)
            #expect(first == fresh)
            #expect(again == fresh)
            #expect(verifier.cachedChainCount == 1)
        }
    }

    @Test func `a cached chain does not replace the check of the document's signature`()
        async throws
    {
        var signer = try Authority.shared.get().signer()
        let verifier = try Cast.verifier()
        let genuine = try signer.jws(Cast.transaction())
        _ = await verifier.transaction(genuine, for: Cast.app, at: Cast.now)
        #expect(verifier.cachedChainCount == 1)
        signer.key = P256.Signing.PrivateKey()
        let forged = try signer.jws(Cast.transaction())
        let outcome = await verifier.transaction(forged, for: Cast.app, at: Cast.now)
        #expect(outcome.refusal?.reason == .badSignature)
    }

    @Test func `a document with a wrong signature leaves no chain in the cache`() async throws {
        var signer = try Authority.shared.get().signer()
        signer.key = P256.Signing.PrivateKey()
        let verifier = try Cast.verifier()
        let jws = try signer.jws(Cast.transaction())
        _ = await verifier.transaction(jws, for: Cast.app, at: Cast.now)
        #expect(verifier.cachedChainCount == 0)
    }

    @Test
    func `the cache of chains has a size limit, and chains removed from it are still verified`()
        async throws
    {
        let signer = try Authority.shared.get().signer()
        let verifier = try Cast.verifier()
        let members = try #require(signer.header.members)
        let documents = try (0..<cachedChainsMax + 6).map { number in
            let mark = JSON.Member("n", .integer(Int64(number)))
            return try signer.jws(Cast.transaction(), header: .object(members + [mark]))
        }
        for (number, jws) in (documents + documents.prefix(1)).enumerated() {
            let outcome = await verifier.transaction(jws, for: Cast.app, at: Cast.now)
            #expect(outcome.verified != nil)
            #expect(verifier.cachedChainCount == min(number + 1, cachedChainsMax))
        }
    }
}
