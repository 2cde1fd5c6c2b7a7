import AppStoreFormats
import Crypto
import Foundation

/// A key that signs a client's bearer tokens, as issued by App Store Connect.
package struct APIKey: Hashable, Sendable {
    /// Maximum number of keys in one world.
    package static let keysMax = 50

    package let id: String
    package let issuerID: String
    /// The P-256 public key, in X9.63 form.
    let publicKey: [UInt8]

    /// Reads a key from PEM: a private key such as App Store Connect's `.p8`, or a public key.
    /// Returns nil for any other text.
    package init?(id: String, issuerID: String, pem: String) {
        if let key = try? P256.Signing.PrivateKey(pemRepresentation: pem) {
            self.init(id: id, issuerID: issuerID, key.publicKey)
        } else if let key = try? P256.Signing.PublicKey(pemRepresentation: pem) {
            self.init(id: id, issuerID: issuerID, key)
        } else {
            return nil
        }
    }

    private init(id: String, issuerID: String, _ key: P256.Signing.PublicKey) {
        self.id = id
        self.issuerID = issuerID
        publicKey = [UInt8](key.x963Representation)
    }

    // MARK: - The well-known key

    /// A key that is valid unless other keys are registered. With this key, a test needs no set-up.
    package static let wellKnown = Self(
        id: "SIMULATOR1", issuerID: "57246542-96fe-1a63-e053-0824d011072a",
        wellKnownPrivateKey.publicKey)

    /// The private key in PEM.
    package static var wellKnownPEM: String { wellKnownPrivateKey.pemRepresentation }

    /// A signature with the well-known key, computed at almost no cost. Such signatures can reveal
    /// the key, which is public anyway.
    @Sendable package static func wellKnownSignature(
        for bytes: [UInt8]
    ) throws -> P256.Signing.ECDSASignature {
        try P256.Signing.ECDSASignature(
            rawRepresentation: wellKnownPool(digest: SHA256.hash(data: bytes)))
    }

    private static let wellKnownPool = PooledSignature(wellKnownPrivateKey)

    /// A bearer token signed with the well-known key, for manual calls.
    ///
    /// - Parameter bundleID: the app of the token; nil for App Store Connect, whose tokens are not
    ///   for one app.
    static func wellKnownToken(
        for bundleID: String?, at now: AppStoreDate,
        seconds lifetime: Int64 = BearerToken.lifetimeSecondsMax
    ) throws(SigningFailure) -> String {
        let header: JSON = ["alg": "ES256", "kid": .string(wellKnown.id), "typ": "JWT"]
        let seconds = now.milliseconds / 1000
        var claims: [JSON.Member] = [
            .init("iss", .string(wellKnown.issuerID)), .init("iat", .integer(seconds)),
            .init("exp", .integer(seconds + lifetime)),
            .init("aud", .string(BearerToken.audience)),
        ]
        if let bundleID { claims.append(.init("bid", .string(bundleID))) }
        let signed =
            Base64.url.encode(header.bytes) + [UInt8(ascii: ".")]
            + Base64.url
            .encode(JSON.object(claims).bytes)
        do {
            let signature = try wellKnownPrivateKey.signature(for: signed).rawRepresentation
            let all = signed + [UInt8(ascii: ".")] + Base64.url.encode([UInt8](signature))
            return String(decoding: all, as: UTF8.self)
        } catch { throw SigningFailure("A bearer token could not be signed: \(error)") }
    }

    private static let wellKnownPrivateKey = firstKey(
        from: Array("The App Store Server API key of the Perennial simulator".utf8))

    /// The first valid private key in a sequence that begins with the hash of the seed and
    /// continues with the hash of the previous value. All values but one in 2³² are valid.
    private static func firstKey(from seed: [UInt8]) -> P256.Signing.PrivateKey {
        var digest = SHA256.hash(data: seed)
        while true {
            if let key = try? P256.Signing.PrivateKey(rawRepresentation: digest) { return key }
            digest = SHA256.hash(data: Data(digest))
        }
    }
}
