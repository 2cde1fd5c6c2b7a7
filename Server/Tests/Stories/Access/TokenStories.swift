import AppStoreFormats
import Crypto
import Ledger
import Testing

/// A device that trusts only the keys of the day on which it was last online. The device verifies
/// tokens without the server.
private struct PinnedDevice {
    private var keys: [String: P256.Signing.PublicKey] = [:]

    private struct Judgment {
        var header: JSON
        var claims: JSON
    }

    /// Trusts every key of a set.
    init(trusting set: JSON) throws {
        for key in set["keys"]?.array ?? [] { try trust(key) }
    }

    private mutating func trust(_ key: JSON) throws {
        let point = try ["x", "y"].flatMap {
            try #require(Base64.url.decode(Array(try key.text($0).utf8)))
        }
        keys[try key.text("kid")] = try P256.Signing.PublicKey(rawRepresentation: point)
    }

    /// Returns the claims of a text if a trusted key has signed the text.
    private func judge(_ text: String) throws -> Judgment? {
        let jws = try #require(CompactJWS(text))
        let header = try JSON(parsing: try #require(jws.header))
        guard let key = keys[try header.text("kid")] else { return nil }
        let signature = try P256.Signing.ECDSASignature(
            rawRepresentation: try #require(jws.signature))
        guard key.isValidSignature(signature, for: Array(jws.signedBytes)) else { return nil }
        return Judgment(header: header, claims: try JSON(parsing: try #require(jws.payload)))
    }

    /// Returns the claims of a token if it is a token of the example app.
    func claims(of token: String) throws -> JSON? {
        guard let judgment = try judge(token), judgment.header["typ"] == "JWT",
            judgment.claims["aud"] == "birds"
        else { return nil }
        return judgment.claims
    }

    /// Trusts each key of the set that a trusted key introduces, one after the other, and no other
    /// key.
    mutating func follow(_ set: JSON) throws {
        for link in (set["chain"]?.array ?? []).compactMap(\.string) {
            guard let judgment = try judge(link),
                judgment.header["typ"] == "key-introduction+jwt",
                judgment.claims["aud"] == "birds/keys", let key = judgment.claims["key"]
            else { continue }
            try trust(key)
        }
    }
}

@Suite struct TokenStories {
    private static let keySet = "/.well-known/jwks.json"

    @Test(arguments: StoryDatabase.allCases)
    func `a device that missed two key rotations can verify a token signed with the newest key`(
        database: StoryDatabase
    ) async throws {
        try await withShop(on: database) { shop in
            try await shop.addDevice("anna")
            let bought = try await shop.simulator.post(
                "/_sim/devices/anna-1/purchases", ["product_id": "pro.monthly"])
            try await shop.server.post(
                "/v1/purchases",
                [
                    "customer_id": "anna",
                    "signed_transactions": [.string(try bought.text("signed_transaction"))],
                ])
            var device = try PinnedDevice(trusting: try await shop.server.get(Self.keySet))
            let old = try await shop.server.get("/v1/customers/anna").text("token")

            // The phone is offline for seven weeks.
            try await shop.simulator.post("/_sim/clock", ["advance": "P21D"])
            let next = try await shop.engine.tokens.prepareKey(of: "birds")
            try await shop.simulator.post("/_sim/clock", ["advance": "P21D"])
            #expect(try await shop.engine.tokens.rotateKey(of: "birds") == next)
            try await shop.simulator.post("/_sim/clock", ["advance": "P7D"])
            _ = try await shop.engine.tokens.rotateKey(of: "birds")

            let new = try await shop.server.get("/v1/customers/anna").text("token")
            let set = try await shop.server.get(Self.keySet)
            #expect(try device.claims(of: new) == nil)
            try device.follow(set)
            let claims = try #require(try device.claims(of: new))
            #expect(claims["sub"] == "anna")
            #expect(
                claims["entitlements"]?["pro"]?["original_transaction_id"]
                    == bought["original_transaction_id"])
            let purchase = try bought.text("original_transaction_id")
            #expect(claims["purchases"]?[purchase] == "theirs")
            // A key in the set has signed the old token, which was made before the new one.
            let kept = try #require(try device.claims(of: old))
            #expect(try PinnedDevice(trusting: set).claims(of: old) == kept)
            let (before, after) = (kept["seq"]?.integer, claims["seq"]?.integer)
            #expect(try #require(before) < #require(after))
            let (exp, end) = (kept["exp"]?.integer, kept["offline_until"]?.integer)
            #expect(try #require(exp) < #require(end))
        }
    }

    @Test(arguments: StoryDatabase.allCases)
    func `a device that trusts a different key with the same id rejects the server's tokens`(
        database: StoryDatabase
    ) async throws {
        try await withShop(on: database) { shop in
            let foreign = P256.Signing.PrivateKey().publicKey.rawRepresentation
            func part(_ bytes: some Sequence<UInt8>) -> JSON {
                .string(String(decoding: Base64.url.encode(Array(bytes)), as: UTF8.self))
            }
            let set = try await shop.server.get(Self.keySet)
            let present = try #require(set["keys"]?.array?.first?["kid"])
            // The foreign key has the same id as the server's key.
            let key: JSON = [
                "kid": present, "x": part(foreign.prefix(32)), "y": part(foreign.suffix(32)),
            ]
            var device = try PinnedDevice(trusting: ["keys": [key]])
            _ = try await shop.engine.tokens.rotateKey(of: "birds")
            let token = try await shop.server.get("/v1/customers/anna").text("token")
            try device.follow(try await shop.server.get(Self.keySet))
            #expect(try device.claims(of: token) == nil)
        }
    }
}
