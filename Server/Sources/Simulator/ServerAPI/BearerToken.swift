import AppStoreFormats
import Crypto

/// The token in a request's `Authorization` header, as defined on the page "Generating JSON Web
/// Tokens for API requests".
struct BearerToken: Sendable {
    /// Maximum seconds from `iat` to `exp`.
    static let lifetimeSecondsMax: Int64 = 3600
    /// The allowed difference between the client's clock and the simulator's, in seconds.
    static let skewSeconds: Int64 = 60
    /// The valid times in seconds since 1970: up to the end of the year 9999.
    private static let seconds: ClosedRange<Int64> = 0...253_402_300_799
    static let audience = "appstoreconnect-v1"
    /// Maximum number of characters of the header's value.
    static let lengthMax = 8192

    /// Why a token is not accepted. The log contains the reason; the response does not, as at
    /// Apple.
    struct Refusal: Error, Hashable, Sendable {
        let reason: String

        init(_ reason: String) { self.reason = reason }
    }

    let key: APIKey
    private let claims: JSON

    /// Parses and verifies a header's value: form, key, signature, claims.
    ///
    /// - Parameter bundleID: the app of the token; nil for App Store Connect, whose tokens are not
    ///   for one app.
    init(_ authorization: String?, keys: [APIKey], bundleID: String?) throws(Refusal) {
        guard let authorization, authorization.utf8.count <= Self.lengthMax,
            let space = authorization.firstIndex(of: " "),
            authorization[..<space].lowercased() == "bearer",
            let jws = CompactJWS(String(authorization[space...].dropFirst())),
            let header = jws.header.flatMap({ try? JSON(parsing: $0) }),
            let claims = jws.payload.flatMap({ try? JSON(parsing: $0) })
        else { throw Refusal("There is no bearer token in the form of a JWT.") }
        guard header["alg"] == "ES256" else { throw Refusal("The algorithm is not ES256.") }
        guard let key = keys.first(where: { $0.id == header["kid"]?.string }) else {
            throw Refusal("No key has the id \(header["kid"]?.string ?? "(none)").")
        }
        guard Self.isSigned(jws, by: key) else {
            throw Refusal("The signature was not made with the key \(key.id).")
        }
        for (name, expected) in [
            ("iss", key.issuerID), ("aud", Self.audience), ("bid", bundleID),
        ] {
            guard let expected, claims[name]?.string != expected else { continue }
            throw Refusal("The claim \(name) is not \(expected).")
        }
        self.key = key
        self.claims = claims
    }

    private static func isSigned(_ jws: CompactJWS, by key: APIKey) -> Bool {
        guard let bytes = jws.signature,
            let signature = try? P256.Signing.ECDSASignature(rawRepresentation: bytes),
            let publicKey = try? P256.Signing.PublicKey(x963Representation: key.publicKey)
        else { return false }
        return publicKey.isValidSignature(signature, for: jws.signedBytes)
    }

    /// Throws unless the token is valid at one or more of these times. A server that follows the
    /// virtual clock uses it in its tokens. All other servers use the machine's clock. Apple's
    /// Python and Java clients send no `iat`.
    func requireCurrent(
        at clocks: [AppStoreDate], secondsMax: Int64 = lifetimeSecondsMax
    ) throws(Refusal) {
        guard let expires = claims["exp"]?.integer else {
            throw Refusal("The claim exp is missing.")
        }
        let begins = claims["iat"]?.integer
        guard Self.seconds.contains(expires), begins.map(Self.seconds.contains) ?? true else {
            throw Refusal("exp and iat must be seconds since 1970.")
        }
        let isCurrent = clocks.contains { clock in
            let now = clock.milliseconds / 1000
            let start = begins ?? now
            return now <= expires + Self.skewSeconds && start <= now + Self.skewSeconds
                && expires - start <= secondsMax
        }
        guard isCurrent else {
            let limit = secondsMax == Self.lifetimeSecondsMax ? "an hour" : "\(secondsMax) s"
            throw Refusal("The token is expired, not valid yet, or valid for over \(limit).")
        }
    }
}

/// Tokens whose signature was verified, by the header's value. A server uses one token for many
/// calls.
struct TokenCache: Sendable {
    /// Maximum number of cached tokens. When the number is exceeded, all are removed.
    static let countMax = 16

    private var tokens: [String: BearerToken] = [:]

    /// The verified token in a header's value. Does not check whether the token is valid at the
    /// present time.
    mutating func token(
        _ authorization: String?, keys: [APIKey], bundleID: String
    ) throws(BearerToken.Refusal) -> BearerToken {
        if let known = authorization.flatMap({ tokens[$0] }) { return known }
        let token = try BearerToken(authorization, keys: keys, bundleID: bundleID)
        if tokens.count == Self.countMax { tokens = [:] }
        if let authorization { tokens[authorization] = token }
        return token
    }
}
