import AppStoreFormats
import Crypto
import Foundation
import Testing

@testable import Simulator

/// Signatures of promotional offers, made as a server makes them and checked as the App Store does.
@Suite struct OfferSignatureTests {
    private static let key = P256.Signing.PrivateKey()
    private static let token = "8D1C9A70-6B1F-4D52-9A4E-0F2B7F3C1A11"

    /// Anna's stage, subscribed to the monthly product, in a shop with a key.
    private func stage() async throws -> Stage {
        let stored = Self.key.derRepresentation.base64EncodedString()
        let stage = try Stage(shop: try CatShop.file(offersKey: stored))
        try await stage.buy("pro.monthly", offer: "none")
        return stage
    }

    /// The signed fields; a test can set each of them to a wrong value.
    struct Claim: Sendable {
        var bundleID = ExampleShop.bundleID
        var keyID = "CA75CA75"
        var productID = "pro.monthly"
        var offerID = "promo.half"
        var token = OfferSignatureTests.token
        var nonce = "0F1E2D3C-4B5A-4978-8796-A5B4C3D2E1F0"
        /// The time ``Stage/noon``, in milliseconds since 1970.
        var timestamp: Int64 = 1_768_075_200_000
    }

    /// Apple's first form: the fields joined by an invisible separator, with the DER signature in
    /// base 64.
    private func text(_ claim: Claim, key: P256.Signing.PrivateKey = key) throws -> OfferProof {
        let words = [
            claim.bundleID, claim.keyID, claim.productID, claim.offerID, claim.token.lowercased(),
            claim.nonce.lowercased(), String(claim.timestamp),
        ]
        let signed = try key.signature(for: Data(words.joined(separator: "\u{2063}").utf8))
        return .text(
            keyID: claim.keyID, nonce: claim.nonce, timestamp: claim.timestamp,
            signature: signed.derRepresentation.base64EncodedString())
    }

    private func jws(
        _ claim: Claim, audience: String = "promotional-offer", more: [JSON.Member] = [],
        key: P256.Signing.PrivateKey = key
    ) throws -> String {
        let header: JSON = ["alg": "ES256", "typ": "JWT", "kid": .string(claim.keyID)]
        let payload = JSON.object(
            [
                .init("iss", "issuer"), .init("bid", .string(claim.bundleID)),
                .init("aud", .string(audience)), .init("iat", .integer(claim.timestamp / 1000)),
                .init("nonce", .string(claim.nonce)),
                .init("productId", .string(claim.productID)),
                .init("offerIdentifier", .string(claim.offerID)),
            ] + more)
        let dot = UInt8(ascii: ".")
        let signed = Base64.url.encode(header.bytes) + [dot] + Base64.url.encode(payload.bytes)
        let signature = try key.signature(for: signed).rawRepresentation
        let all = signed + [dot] + Base64.url.encode([UInt8](signature))
        return String(decoding: all, as: UTF8.self)
    }

    private func redeem(_ proof: OfferProof, on stage: Stage) async throws {
        var order = PurchaseOrder(
            "pro.monthly", offerID: "promo.half", appAccountToken: Self.token)
        order.offerProof = proof
        try await stage.simulator.purchase(order, on: "anna-1")
    }

    private func expectRefusal(of proof: OfferProof, on stage: Stage) async {
        await #expect {
            try await redeem(proof, on: stage)
        } throws: { ($0 as? SimulatorProblem)?.code == "invalid_offer_signature" }
    }

    @Test func `both forms of a valid offer signature are accepted`() async throws {
        for proof in [try text(Claim()), .compactJWS(try jws(Claim()))] {
            let stage = try await stage()
            try await redeem(proof, on: stage)
            #expect(try await stage.story().last == "OFFER_REDEEMED 1 pro.monthly")
        }
    }

    static let wrong: [@Sendable (inout Claim) -> Void] = [
        { $0.bundleID = "com.example.dogs" }, { $0.keyID = "D065D065" },
        { $0.productID = "basic" }, { $0.offerID = "promo.free" },
        { $0.timestamp -= 86_400_001 }, { $0.timestamp += 301_000 },
    ]

    @Test(arguments: wrong.indices)
    func `an offer signature for other values is refused, in both forms`(index: Int) async throws {
        var claim = Claim()
        Self.wrong[index](&claim)
        let stage = try await stage()
        await expectRefusal(of: try text(claim), on: stage)
        await expectRefusal(of: .compactJWS(try jws(claim)), on: stage)
    }

    @Test
    func `an offer is refused if its signature has another key, token or form`()
        async throws
    {
        let stage = try await stage()
        let other = P256.Signing.PrivateKey()
        var claim = Claim()
        await expectRefusal(of: try text(claim, key: other), on: stage)
        await expectRefusal(of: .compactJWS(try jws(claim, key: other)), on: stage)
        await expectRefusal(of: .compactJWS(try jws(claim, audience: "else")), on: stage)
        claim.token = "another"
        await expectRefusal(of: try text(claim), on: stage)
        await expectRefusal(of: .compactJWS("a.b.c"), on: stage)
        let nothing = OfferProof.text(
            keyID: claim.keyID, nonce: claim.nonce, timestamp: claim.timestamp, signature: "AAAA")
        await expectRefusal(of: nothing, on: stage)
    }

    @Test func `each nonce of an offer signature is accepted only once`() async throws {
        let stage = try await stage()
        try await redeem(try text(Claim()), on: stage)
        await expectRefusal(of: try text(Claim()), on: stage)
    }

    @Test func `without a key, the simulator does not check the signatures of offers`() async throws
    {
        let stage = try Stage(shop: try CatShop.file())
        try await stage.buy("pro.monthly", offer: "none")
        try await redeem(.compactJWS("anything"), on: stage)
        #expect(try await stage.story().last == "OFFER_REDEEMED 1 pro.monthly")
    }

    @Test(arguments: [true, false, nil])
    func `a signed claim decides about the introductory offer, and an invalid claim denies it`(
        word: Bool?
    ) async throws {
        let stored = Self.key.derRepresentation.base64EncodedString()
        let stage = try Stage(shop: try CatShop.file(offersKey: stored))
        try await stage.simulator.addDevice(account: "anna")
        var order = PurchaseOrder("pro.monthly")
        let key = word == nil ? P256.Signing.PrivateKey() : Self.key
        order.introductoryEligibility = try jws(
            Claim(), audience: "introductory-offer-eligibility",
            more: [.init("allowIntroductoryOffer", .bool(word ?? true))], key: key)
        try await stage.simulator.purchase(order, on: "anna-1")
        let offer = try await stage.letters()[0].transaction.offerType
        #expect(offer == (word == true ? .introductory : nil))
    }
}
