import AppStoreFormats
import Crypto
import Ledger

/// Verifies ID tokens of the authorization code flow (OpenID Connect Core 1.0, 3.1.3.7).
struct IDTokenVerifier {
    /// The maximum size of an ID token, in bytes. Tokens with many groups are large.
    static let tokenBytesMax = 65_536
    /// How far the provider's clock may differ from this server's.
    static let leeway = Duration.seconds(60)
    /// The maximum number of groups that are read.
    static let groupsMax = 1_000
    /// OpenID Connect Core 1.0, 2: at most 255 ASCII characters.
    static let subjectBytesMax = 255
    /// Longer names are cut.
    static let nameCharactersMax = 200
    /// The maximum number of dots that lead into objects in the name of the claim with groups.
    static let claimDepthMax = 8

    let settings: OpenIDSettings

    /// A token that was split, with its signature not verified yet.
    struct Unverified {
        var jws: CompactJWS
        var algorithm: SigningAlgorithm
        var keyID: String?
    }

    /// - Throws: ``OpenIDFailure/rejected(_:)`` if the token is no JWS with an accepted algorithm.
    func unverified(_ token: String) throws(OpenIDFailure) -> Unverified {
        guard token.utf8.count <= Self.tokenBytesMax, let jws = CompactJWS(token),
            let header = jws.header.flatMap({ try? JSON(parsing: $0) }),
            let name = header["alg"]?.string
        else { throw .rejected(.form) }
        guard let algorithm = SigningAlgorithm(rawValue: name) else { throw .rejected(.algorithm) }
        guard header["crit"] == nil else { throw .rejected(.criticalHeader) }
        return Unverified(jws: jws, algorithm: algorithm, keyID: header["kid"]?.string)
    }

    /// The identity that a token attests.
    ///
    /// - Parameters:
    ///   - key: the key with the id that the token names; nil if the provider has none.
    ///   - accessToken: the token that came with the ID token.
    /// - Throws: ``OpenIDFailure/rejected(_:)``.
    func identity(
        _ token: Unverified, signedBy key: ProviderKeys.Key?, for ticket: SignInTicket,
        beside accessToken: String?, at now: Instant
    ) throws(OpenIDFailure) -> VerifiedIdentity {
        guard let key, key.algorithm == token.algorithm else { throw .rejected(.unknownKey) }
        guard let signature = token.jws.signature,
            key.isValid(signature, for: Array(token.jws.signedBytes))
        else { throw .rejected(.signature) }
        guard let claims = token.jws.payload.flatMap({ try? JSON(parsing: $0) }),
            let members = claims.members
        else { throw .rejected(.form) }
        guard Set(members.map(\.key)).count == members.count else {
            throw .rejected(.repeatedClaim)
        }
        let defect =
            addressDefect(in: claims) ?? Self.timeDefect(in: claims, at: now)
            ?? Self.bindingDefect(in: claims, ticket, accessToken)
        if let defect { throw .rejected(defect) }
        guard let subject = claims["sub"]?.string, Self.isSubject(subject) else {
            throw .rejected(.subject)
        }
        return VerifiedIdentity(
            issuer: settings.issuer.text, subject: subject, groups: groups(in: claims),
            userName: Self.name("preferred_username", in: claims),
            mail: Self.name("email", in: claims), fullName: Self.name("name", in: claims))
    }

    /// Whether the token is from this provider, and for this client.
    private func addressDefect(in claims: JSON) -> IDTokenDefect? {
        guard claims["iss"]?.string == settings.issuer.text else { return .issuer }
        let audience: [String]
        switch claims["aud"] {
        case .string(let one)?: audience = [one]
        case .array(let several)?: audience = several.compactMap(\.string)
        default: audience = []
        }
        guard audience.contains(settings.clientID) else { return .audience }
        let party = claims["azp"]?.string
        guard party == settings.clientID || claims["azp"] == nil && audience.count == 1 else {
            return .authorizedParty
        }
        return nil
    }

    private static func timeDefect(in claims: JSON, at now: Instant) -> IDTokenDefect? {
        guard let end = instant(claims["exp"]), end + leeway > now else { return .expired }
        guard let issued = instant(claims["iat"]), issued <= now + leeway,
            issued + SignInTicket.life + leeway > now
        else { return .issuedAt }
        if let start = claims["nbf"] {
            guard let start = instant(start), start <= now + leeway else { return .notYet }
        }
        return nil
    }

    /// Whether the token belongs to this sign-in, and to the token that came with it.
    private static func bindingDefect(
        in claims: JSON, _ ticket: SignInTicket, _ accessToken: String?
    ) -> IDTokenDefect? {
        guard isEqual(claims["nonce"]?.string, ticket.nonce) else { return .nonce }
        guard let sent = claims["at_hash"] else { return nil }
        // The left half of the hash that the algorithm of the signature uses, which is SHA-256.
        let half = SHA256.hash(data: Array((accessToken ?? "").utf8)).prefix(16)
        let own = String(decoding: Base64.url.encode(Array(half)), as: UTF8.self)
        guard accessToken != nil, isEqual(sent.string, own) else { return .accessTokenHash }
        return nil
    }

    private static func isEqual(_ sent: String?, _ own: String) -> Bool {
        guard let sent else { return false }
        return SymmetricKey(data: Array(sent.utf8)) == SymmetricKey(data: Array(own.utf8))
    }

    private static func isSubject(_ text: String) -> Bool {
        (1...subjectBytesMax).contains(text.utf8.count)
            && text.utf8.allSatisfy { (0x20...0x7E).contains($0) }
    }

    /// A number of seconds since 1970, possibly with a fraction (RFC 7519, 2).
    private static func instant(_ json: JSON?) -> Instant? {
        let seconds: Double
        switch json {
        case .integer(let whole)?: seconds = Double(whole)
        case .decimal(let text)?:
            guard let number = Double(text) else { return nil }
            seconds = number
        default: return nil
        }
        guard (0...1e12).contains(seconds) else { return nil }
        return Instant(milliseconds: Int64(seconds * 1_000))
    }

    // MARK: - Names and groups

    /// A name for people to read, without control characters. Nil if it is missing or empty.
    private static func name(_ claim: String, in claims: JSON) -> String? {
        guard let text = claims[claim]?.string else { return nil }
        let scalars = text.unicodeScalars.filter { $0.properties.generalCategory != .control }
        let name = String(String(String.UnicodeScalarView(scalars)).prefix(nameCharactersMax))
        return name.isEmpty ? nil : name
    }

    /// The groups of a person: the words of one claim. Text that is too long counts for nothing.
    private func groups(in claims: JSON) -> Set<String> {
        let claim = settings.groupsClaim
        // A provider with self-registration does not check every address.
        guard claim != "email" || claims["email_verified"]?.bool == true else { return [] }
        let value = claims[claim] ?? Self.value(at: claim, in: claims)
        let words: [String]
        switch value {
        case .string(let one)?: words = [one]
        case .array(let several)?: words = several.prefix(Self.groupsMax).compactMap(\.string)
        default: words = []
        }
        return Set(words.filter { $0.utf8.count <= OpenIDSettings.groupBytesMax })
    }

    private static func value(at path: String, in claims: JSON) -> JSON? {
        let steps = path.split(separator: ".", omittingEmptySubsequences: false)
        guard steps.count <= claimDepthMax else { return nil }
        return steps.reduce(JSON?.some(claims)) { value, step in value?[String(step)] }
    }
}
