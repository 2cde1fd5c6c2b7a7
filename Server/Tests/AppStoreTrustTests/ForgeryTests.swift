import AppStoreFormats
import AppStoreTrust
import Crypto
import Signing
import Testing
import X509

@Suite struct ForgeryTests {
    private func reason(_ jws: [UInt8]) async throws -> Refusal.Reason? {
        let outcome = try await Cast.verifier().transaction(jws, for: Cast.app, at: Cast.now)
        #expect(outcome.verified == nil)
        return outcome.refusal?.reason
    }

    private func changed(_ header: JSON, _ key: String, _ value: JSON?) -> JSON {
        let others = (header.members ?? []).filter { $0.key != key }
        return .object(others + (value.map { [JSON.Member(key, $0)] } ?? []))
    }

    @Test(
        arguments: [
            ("alg", "none", Refusal.Reason.algorithm),
            ("alg", "HS256", .algorithm),
            ("alg", "ES384", .algorithm),
            ("alg", nil, .algorithm),
            ("x5c", nil, .certificateCount),
            ("x5c", [], .certificateCount),
            ("x5c", ["!", "!", "!"], .certificateUnreadable),
            ("x5c", ["AAAA", "AAAA", "AAAA"], .certificateUnreadable),
            ("x5c", [1, 2, 3], .certificateCount),
            ("crit", ["b64"], .criticalHeader),
            ("kid", "Apple_Xcode_Key", .environmentNeverTrusted),
        ] as [(String, JSON?, Refusal.Reason)])
    func `a JWS header that Apple would not write is refused`(
        key: String, value: JSON?, expected: Refusal.Reason
    ) async throws {
        let signer = try Authority.shared.get().signer()
        let header = changed(signer.header, key, value)
        #expect(try await reason(signer.jws(Cast.transaction(), header: header)) == expected)
    }

    @Test(arguments: [1, 2, 4])
    func `a chain that does not have three certificates is refused`(count: Int) async throws {
        var signer = try Authority.shared.get().signer()
        signer.certificates = Array((signer.certificates + signer.certificates).prefix(count))
        #expect(try await reason(signer.jws(Cast.transaction())) == .certificateCount)
    }

    @Test func `the third certificate of a chain is never read`() async throws {
        var signer = try Authority.shared.get().signer()
        signer.certificates[2] = Array("no certificate".utf8)
        let jws = try signer.jws(Cast.transaction())
        let outcome = try await Cast.verifier().transaction(jws, for: Cast.app, at: Cast.now)
        #expect(outcome.verified != nil)
    }

    @Test(arguments: ["", "a", "a.b", "a..c", ".b.c", "a.b.", "a.b.c.d"])
    func `a text that is not a compact JWS is refused`(text: String) async throws {
        #expect(try await reason(Array(text.utf8)) == .notAJWS)
    }

    @Test func `a JWS with an unreadable header is refused`() async throws {
        let signer = try Authority.shared.get().signer()
        #expect(try await reason(Array("!.b.c".utf8)) == .headerUnreadable)
        let broken = try signer.jws(payload: [], header: Array("[]".utf8))
        #expect(try await reason(Array("e30.".utf8) + broken) == .notAJWS)
        let list = try signer.jws(payload: Array("{}".utf8), header: Array("[]".utf8))
        #expect(try await reason(list) == .headerUnreadable)
    }

    @Test func `a document over the size limit is refused before it is read`() async throws {
        let signer = try Authority.shared.get().signer()
        let long = JSON.string(String(repeating: "x", count: AppStoreTrust.Verifier.jwsBytesMax))
        #expect(try await reason(signer.jws(["bundleId": long])) == .tooLong)
        let header = changed(
            signer.header, "pad",
            .string(String(repeating: "x", count: AppStoreTrust.Verifier.headerBytesMax)))
        #expect(try await reason(signer.jws(Cast.transaction(), header: header)) == .tooLong)
        var fat = signer
        fat.certificates[0] = [UInt8](repeating: 48, count: 4097)
        let refusal = try await Cast.verifier().transaction(
            fat.jws(Cast.transaction()), for: Cast.app, at: Cast.now
        ).refusal
        #expect(refusal?.reason == .certificateUnreadable)
        #expect(refusal?.found == "a certificate of 4097 bytes")
    }

    @Test func `a chain to another root of the same name is refused`() async throws {
        let signer = try Authority().signer()
        #expect(try await reason(signer.jws(Cast.transaction())) == .untrustedChain)
    }

    @Test func `another authority's leaf is refused, even with a genuine intermediate`()
        async throws
    {
        var signer = try Authority().signer()
        let genuine = try Authority.shared.get().signer()
        signer.certificates[1...2] = genuine.certificates[1...2]
        #expect(try await reason(signer.jws(Cast.transaction())) == .untrustedChain)
    }

    @Test func `genuine certificates are refused if another key made the signature`()
        async throws
    {
        var signer = try Authority.shared.get().signer()
        signer.key = P256.Signing.PrivateKey()
        #expect(try await reason(signer.jws(Cast.transaction())) == .badSignature)
    }

    @Test func `a leaf directly under the root is refused`() async throws {
        let authority = try Authority.shared.get()
        var signer = try authority.signer()
        let leaf = try authority.certificateUnderRoot(
            named: "Leaf", key: .init(signer.key.publicKey))
        signer.certificates[0] = try leaf.der
        #expect(try await reason(signer.jws(Cast.transaction())) == .untrustedChain)
    }

    @Test func `a leaf without the marker extension of Apple's leaves is refused`()
        async throws
    {
        let authority = try Authority.shared.get()
        for marker in [nil, Authority.otherMarker] {
            let jws = try authority.signer(marker: marker).jws(Cast.transaction())
            #expect(try await reason(jws) == .missingMarker)
        }
    }

    @Test func `a leaf whose key usage does not include signatures is refused`() async throws {
        let signer = try Authority.shared.get().signer(usage: KeyUsage(keyAgreement: true))
        #expect(try await reason(signer.jws(Cast.transaction())) == .wrongKeyUsage)
    }

    @Test func `a leaf without key usage is accepted`() async throws {
        let jws = try Authority.shared.get().signer(usage: nil).jws(Cast.transaction())
        let outcome = try await Cast.verifier().transaction(jws, for: Cast.app, at: Cast.now)
        #expect(outcome.verified != nil)
    }

    @Test func `a leaf with a key of another curve is refused`() async throws {
        let authority = try Authority.shared.get()
        var signer = try authority.signer()
        signer.certificates[0] = try authority.leaf(for: P384.Signing.PrivateKey().publicKey).der
        #expect(try await reason(signer.jws(Cast.transaction())) == .algorithm)
    }

    @Test func `an intermediate that Apple would not issue is refused`() async throws {
        let cases: [(Authority, Refusal.Reason)] = [
            (try Authority(intermediateMarker: nil), .missingMarker),
            (try Authority(intermediateMarker: Authority.otherMarker), .missingMarker),
            (try Authority(intermediateUsage: KeyUsage(digitalSignature: true)), .wrongKeyUsage),
            (try Authority(intermediateIsAuthority: false), .untrustedChain),
        ]
        for (authority, expected) in cases {
            let verifier = AppStoreTrust.Verifier(roots: try TrustRoots(der: [authority.root.der]))
            let jws = try authority.signer().jws(Cast.transaction())
            let outcome = await verifier.transaction(jws, for: Cast.app, at: Cast.now)
            #expect(outcome.refusal?.reason == expected)
        }
    }

    @Test func `a JWS that is truncated or has one changed byte is never verified`() async throws {
        let jws = try Authority.shared.get().signer().jws(Cast.transaction())
        let verifier = try Cast.verifier()
        let genuine = await verifier.transaction(jws, for: Cast.app, at: Cast.now)
        #expect(genuine.verified != nil)
        let offsets = Array(stride(from: 0, to: jws.count, by: 11)) + [jws.count - 1]
        for offset in offsets {
            var changed = jws
            changed[offset] = changed[offset] == UInt8(ascii: "A") ? UInt8(ascii: "B") : 65
            let outcome = await verifier.transaction(changed, for: Cast.app, at: Cast.now)
            #expect(outcome.refusal != nil, "changed at \(offset)")
            let short = await verifier.transaction(
                Array(jws[..<offset]), for: Cast.app, at: Cast.now)
            #expect(short.refusal != nil, "shortened to \(offset)")
        }
    }
}
