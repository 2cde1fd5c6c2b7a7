import AccessRules
import Testing

@testable import Perennial
@testable import PerennialContract

struct CustomerTokenTests {
    private let signer = TestSigner("first")

    private func read(
        _ text: String, app: String? = "birds", environment: StoreEnvironment = .production,
        ids: Set<String> = ["anna", "anon_1"], now: Int64 = 1_798_000_100
    ) -> CustomerToken? {
        CustomerToken(
            text, by: KeyRing(pinned: [signer.signingKey]),
            expected: .init(
                audience: Audience(app: app, environment: environment), customerIDs: ids,
                now: Timestamp(milliseconds: now * 1000)))
    }

    @Test func `a token contains the values that decide about access`() throws {
        let token = try #require(read(signer.token()))
        #expect(token.app == "birds")
        let evidence = token.serverEvidence
        #expect(!evidence.isLive)
        #expect(evidence.asOf == Timestamp(milliseconds: 1_798_000_000_123))
        #expect(evidence.offlineUntil == Timestamp(milliseconds: 1_800_592_000_000))
        #expect(evidence.verdicts == ["200": .theirs, "201": .theirs])
        #expect(
            evidence.rights == [
                "pro": ServerEvidence.Right(
                    isActive: true, state: .paid,
                    until: Timestamp(milliseconds: 1_798_286_400_000),
                    originalTransactionID: "200")
            ])
    }

    @Test func `an entitlement may renew only if the token says so`() throws {
        let claim =
            #"{"pro":{"state":"paid","until":1798286400,"renews":true},"#
            + #""gift":{"state":"granted","until":null}}"#
        let rights = try #require(read(signer.token(["entitlements": claim]))).serverEvidence.rights
        #expect(rights["pro"]?.mayRenew == true)
        #expect(rights["gift"]?.mayRenew == false)
        #expect(rights["gift"]?.until == nil)
    }

    @Test(arguments: [
        ["sub": #""ben""#], ["sub": ""], ["aud": #""cats""#], ["aud": #""birds/sandbox""#],
        ["aud": #""""#], ["iss": #""perennial/sandbox""#], ["iss": ""],
        ["environment": #""sandbox""#], ["environment": ""], ["iat": ""], ["iat": "1798086501"],
        ["iat": "1798000000.5"], ["iat": #""1798000000""#], ["exp": ""], ["exp": "1797999999"],
        ["offline_until": "1798003599"], ["offline_until": "null"], ["seq": ""],
        ["entitlements": ""], ["entitlements": "[]"], ["entitlements": #"{"pro":{}}"#],
        ["entitlements": #"{"pro":{"state":"paid"}}"#], ["purchases": "[]"], ["iat": "-1"],
    ])
    func `a token with a wrong value in a claim is refused`(changes: [String: String]) {
        #expect(read(signer.token(changes)) == nil)
    }

    @Test func `a sandbox token is accepted in the sandbox only`() {
        let token = signer.token([
            "aud": #""birds/sandbox""#, "iss": #""perennial/sandbox""#,
            "environment": #""sandbox""#,
        ])
        #expect(read(token) == nil)
        #expect(read(token, app: nil) == nil)
        #expect(read(token, environment: .sandbox)?.app == "birds")
    }

    @Test func `if the app's name is unknown, it is taken from the token`() {
        #expect(read(signer.token(["aud": #""cats""#]), app: nil)?.app == "cats")
    }

    @Test func `a token from an older server is valid offline until its expiry`() {
        let token = read(signer.token(["offline_until": "", "purchases": ""]))
        #expect(token?.offlineUntil == token?.expiresAt)
        #expect(token?.purchases == [])
    }

    @Test func `a token with a flipped bit is refused`() {
        let bytes = Array(signer.token().utf8)
        for index in bytes.indices {
            for bit in 0..<8 {
                var flipped = bytes
                flipped[index] ^= 1 << UInt8(bit)
                let text = String(decoding: flipped, as: UTF8.self)
                #expect(read(text) == nil, "bit \(bit) of byte \(index)")
            }
        }
    }
}
