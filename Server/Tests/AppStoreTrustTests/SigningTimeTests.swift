import AppStoreFormats
import AppStoreTrust
import Signing
import Testing

@Suite struct SigningTimeTests {
    private static let skew = AppStoreTrust.Verifier.clockSkewMax

    @Test(arguments: [
        (Moment.year2025, true),
        (.year2025 + -1, false),
        (.year2027, true),
        (.year2027 + 1, false),
    ])
    func `a document is refused if its certificates were not valid when it was signed`(
        signed: Moment, isValid: Bool
    ) async throws {
        let jws = try Authority.shared.get().signer().jws(Cast.transaction(signed: signed))
        let verifier = try Cast.verifier()
        // A document that was signed in time stays valid much later. The second check uses the
        // cache.
        for _ in 1...2 {
            let outcome = await verifier.transaction(
                jws, for: Cast.app, at: Moment.year2040.onWire)
            #expect((outcome.verified != nil) == isValid)
            #expect(outcome.refusal?.reason == (isValid ? nil : .notValidAtSigning))
        }
    }

    @Test func `a cached chain is refused after its certificates have expired`() async throws {
        let signer = try Authority.shared.get().signer()
        let verifier = try Cast.verifier()
        let good = try signer.jws(Cast.transaction())
        let late = try signer.jws(Cast.transaction(signed: .year2028))
        let first = await verifier.transaction(good, for: Cast.app, at: Cast.now)
        #expect(first.verified != nil)
        let second = await verifier.transaction(late, for: Cast.app, at: Moment.year2028.onWire)
        #expect(second.refusal?.reason == .notValidAtSigning)
    }

    @Test func `a chain is valid only while each of its certificates is valid`() async throws {
        let short = Moment.year2025..<Moment.year2026
        for authority in [
            try Authority(intermediateValid: short), try Authority(rootValid: short),
        ] {
            let verifier = AppStoreTrust.Verifier(roots: try TrustRoots(der: [authority.root.der]))
            let signer = try authority.signer()
            for (signed, isValid) in [(Moment.year2026, true), (.year2026 + 1, false)] {
                let jws = try signer.jws(Cast.transaction(signed: signed))
                let outcome = await verifier.transaction(
                    jws, for: Cast.app, at: Moment.year2028.onWire)
                #expect((outcome.verified != nil) == isValid)
            }
        }
    }

    @Test func `a document from the future is reported as a clock mismatch`() async throws {
        let jws = try Authority.shared.get().signer().jws(Cast.transaction())
        let verifier = try Cast.verifier()
        let edge = AppStoreDate(milliseconds: Cast.now.milliseconds - Self.skew)
        let within = await verifier.transaction(jws, for: Cast.app, at: edge)
        #expect(within.verified != nil)
        let before = AppStoreDate(milliseconds: edge.milliseconds - 1)
        let beyond = await verifier.transaction(jws, for: Cast.app, at: before)
        #expect(beyond.uncertainty == ClockMismatch(signedAt: Cast.now, now: before))
        #expect(beyond.uncertainty?.sentence.contains("2026-01-01T00:00:00.000Z") == true)
    }

    @Test func `a document from the future is refused if it is forged or for another app`()
        async throws
    {
        let verifier = try Cast.verifier()
        let early = Moment.year2025.onWire
        let forged = try Authority().signer().jws(Cast.transaction())
        let forgedOutcome = await verifier.transaction(forged, for: Cast.app, at: early)
        #expect(forgedOutcome.refusal?.reason == .untrustedChain)
        let other = try Authority.shared.get().signer().jws(Cast.transaction(bundle: "x"))
        let otherOutcome = await verifier.transaction(other, for: Cast.app, at: early)
        #expect(otherOutcome.refusal?.reason == .wrongBundle)
    }

    @Test func `a notification from the future is reported as a clock mismatch`() async throws {
        let payload = Cast.notification("data", Cast.part())
        let jws = try Authority.shared.get().signer().jws(payload)
        let outcome = try await Cast.verifier().notification(
            jws, for: Cast.app, at: Moment.year2025.onWire)
        guard case .clockMismatch(let uncertainty) = outcome else {
            Issue.record("the outcome is certain: \(outcome)")
            return
        }
        #expect(uncertainty.signedAt == Cast.now)
    }
}
