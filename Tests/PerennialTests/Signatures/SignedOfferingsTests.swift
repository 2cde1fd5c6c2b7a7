import Foundation
import Testing

@testable import Perennial
@testable import PerennialContract

struct SignedOfferingsTests {
    private let signer = TestSigner("first")

    private func payload(
        _ audience: String = "birds", hours: Int = 24, months: Int = 3
    ) throws -> String {
        let offerings = Offerings(
            app: "birds", bundleID: "com.example.birds", environment: .production,
            products: [
                .init(
                    productID: "pro.monthly", entitlements: ["pro"],
                    term: .init(months: months, days: 1, bonusDays: 1, chain: "pro"))
            ],
            placements: [
                .init(
                    placementID: "paywall", products: ["pro.monthly"],
                    metadata: ["size": .number(1.5)])
            ],
            timeZone: "UTC", overlap: "stack", unconfirmedHoldHours: hours, offlineDays: 30)
        let text = String(decoding: try JSONEncoder().encode(offerings), as: UTF8.self)
        return #"{"iss":"perennial","aud":"\#(audience)","iat":1798000000,"# + text.dropFirst()
    }

    private func read(_ text: String, app: String? = "birds", bundleID: String? = nil)
        -> SignedOfferings?
    {
        SignedOfferings(
            text, by: KeyRing(pinned: [signer.signingKey]),
            audience: Audience(app: app, environment: .production), bundleID: bundleID)
    }

    @Test func `signed offerings with an app's own fractional numbers are decoded`() throws {
        let text = signer.jws(try payload(), type: SignedOfferings.type)
        let signed = try #require(read(text, bundleID: "com.example.birds"))
        #expect(signed.offerings.products.map(\.productID) == ["pro.monthly"])
        #expect(signed.app == "birds")
    }

    @Test func `offerings with an impossible length of time are refused`() throws {
        for payload in [
            try payload(hours: .max), try payload(hours: -1), try payload(months: .max),
            try payload(months: -1),
        ] {
            #expect(read(signer.jws(payload, type: SignedOfferings.type)) == nil)
        }
    }

    @Test func `offerings of another kind, key, app or environment are refused`() throws {
        let payload = try payload()
        let type = SignedOfferings.type
        #expect(read(signer.jws(payload)) == nil)
        #expect(read(TestSigner("first").jws(payload, type: type)) == nil)
        #expect(read(signer.jws(payload, type: type), app: "cats") == nil)
        #expect(read(signer.jws(payload, type: type), bundleID: "com.example.cats") == nil)
        #expect(read(signer.jws(try self.payload("birds/sandbox"), type: type)) == nil)
        #expect(read(signer.jws(try self.payload("cats"), type: type), app: nil) == nil)
    }
}
