import AppStoreFormats
import AppStoreTrust
import Signing
import Testing

@Suite struct VerifierTests {
    @Test func `a transaction under our root is verified with its payload`() async throws {
        let jws = try Authority.shared.get().signer().jws(Cast.transaction())
        let verified = try #require(
            await Cast.verifier().transaction(jws, for: Cast.app, at: Cast.now).verified)
        #expect(verified.payload.transactionId == "1001")
        #expect(verified.environment == .production)
        #expect(verified.signedAt == Cast.now)
    }

    @Test func `for renewal information, only the environment is compared with the app's settings`()
        async throws
    {
        let signer = try Authority.shared.get().signer()
        let verifier = try Cast.verifier()
        let jws = try signer.jws(Cast.renewal(environment: "Sandbox"))
        let outcome = await verifier.renewal(jws, for: Cast.app, at: Cast.now)
        #expect(outcome.verified?.environment == .sandbox)
        var elsewhere = Cast.app
        elsewhere.environments = [.production]
        let refused = await verifier.renewal(jws, for: elsewhere, at: Cast.now)
        #expect(refused.refusal?.reason == .wrongEnvironment)
    }

    @Test func `the date of an app transaction is the creation date of its receipt`() async throws {
        let jws = try Authority.shared.get().signer().jws(Cast.appTransaction())
        let outcome = try await Cast.verifier().appTransaction(jws, for: Cast.app, at: Cast.now)
        #expect(outcome.verified?.signedAt == Cast.now)
    }

    @Test(
        arguments: [
            (Cast.transaction(bundle: "com.example.wrong"), .wrongBundle),
            (Cast.transaction(bundle: nil), .fieldMissing),
            (Cast.transaction(environment: nil), .fieldMissing),
            (Cast.transaction(signed: nil), .fieldMissing),
            (Cast.transaction(environment: "Xcode"), .environmentNeverTrusted),
            (Cast.transaction(environment: "LocalTesting"), .environmentNeverTrusted),
            (Cast.transaction(environment: "Staging"), .environmentNeverTrusted),
            (Cast.transaction(environment: "Sandbox"), .wrongEnvironment),
            (["not": "ours"], .fieldMissing),
            ([1, 2], .payloadUnreadable),
        ] as [(JSON, Refusal.Reason)])
    func `a genuine transaction for another app is refused`(
        payload: JSON, reason: Refusal.Reason
    ) async throws {
        var app = Cast.app
        // Documents that anybody can sign are refused, even for an app that accepts all
        // environments.
        app.environments = [.production, .xcode, .localTesting]
        let jws = try Authority.shared.get().signer().jws(payload)
        let outcome = try await Cast.verifier().transaction(jws, for: app, at: Cast.now)
        #expect(outcome.refusal?.reason == reason)
    }

    @Test(
        arguments: [
            (Cast.appTransaction(appAppleID: 1235), .wrongAppAppleID),
            (Cast.appTransaction(appAppleID: nil), .wrongAppAppleID),
            (Cast.appTransaction(environment: "Sandbox", appAppleID: 1235), nil),
            (Cast.appTransaction(environment: "Sandbox", appAppleID: nil), nil),
            (Cast.appTransaction(), nil),
        ] as [(JSON, Refusal.Reason?)])
    func `the app's Apple id is compared in production only`(
        payload: JSON, reason: Refusal.Reason?
    ) async throws {
        let jws = try Authority.shared.get().signer().jws(payload)
        let outcome = try await Cast.verifier().appTransaction(jws, for: Cast.app, at: Cast.now)
        #expect(outcome.refusal?.reason == reason)
        #expect((outcome.verified == nil) == (reason != nil))
    }

    @Test func `if the app has no configured Apple id, the id in a document is not compared`()
        async throws
    {
        var app = Cast.app
        app.appAppleID = nil
        let jws = try Authority.shared.get().signer().jws(Cast.appTransaction(appAppleID: 77))
        let outcome = try await Cast.verifier().appTransaction(jws, for: app, at: Cast.now)
        #expect(outcome.verified?.payload.appAppleId == 77)
    }

    @Test func `a refusal names the expected and the found value`() async throws {
        let jws = try Authority.shared.get().signer().jws(
            Cast.transaction(bundle: "com.example.wrong"))
        let outcome = try await Cast.verifier().transaction(jws, for: Cast.app, at: Cast.now)
        #expect(
            outcome.refusal?.sentence
                == "The document is for bundle com.example.wrong, expected com.example.garden.")
    }

    @Test func `the text of a refusal has a maximum length and no control characters`() {
        let refusal = Refusal(
            .wrongBundle, expected: "a",
            found: "b\n\u{1B}[2J" + String(repeating: "x", count: 9999))
        #expect(refusal.found.hasPrefix("b\u{FFFD}\u{FFFD}[2Jxx"))
        #expect(refusal.found.count == Refusal.foundCharactersMax)
    }

    @Test func `the bundle id and environment of a document can be read before its verification`()
        throws
    {
        func claim(_ payload: JSON) throws -> UnverifiedClaim? {
            let stranger = try Authority().signer()
            return AppStoreTrust.Verifier.peek(try stranger.jws(payload))
        }
        let data = Cast.notification("data", Cast.part(environment: "Sandbox"))
        #expect(try claim(data)?.bundleID == Cast.bundleID)
        #expect(try claim(data)?.environment == .sandbox)
        #expect(try claim(Cast.transaction())?.bundleID == Cast.bundleID)
        #expect(try claim(Cast.appTransaction())?.environment == .production)
        #expect(try claim(Cast.renewal())?.bundleID == nil)
        let token: JSON = ["externalPurchaseId": "SANDBOX_1", "bundleId": "com.example.token"]
        let tokenClaim = try claim(Cast.notification("externalPurchaseToken", token))
        #expect(tokenClaim?.bundleID == "com.example.token")
        #expect(tokenClaim?.environment == .sandbox)
        #expect(try claim([1]) == nil)
        #expect(AppStoreTrust.Verifier.peek(Array("e30.e30".utf8)) == nil)
    }
}
