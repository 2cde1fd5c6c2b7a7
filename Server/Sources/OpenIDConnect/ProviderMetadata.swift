import AppStoreFormats

/// What a provider says about itself in `/.well-known/openid-configuration` (OpenID Connect
/// Discovery 1.0, 3). Only the members that a sign-in needs.
package struct ProviderMetadata: Hashable, Sendable {
    package static let path = "/.well-known/openid-configuration"
    /// The maximum size of the document, in bytes.
    package static let bytesMax = 65_536

    package var authorizationEndpoint: ProviderURL
    package var tokenEndpoint: ProviderURL
    package var keysURL: ProviderURL
    /// Whether the secret is sent in the body of the request for tokens, because the provider does
    /// not accept it in the header `Authorization`.
    package var takesSecretInBody: Bool
    /// Whether the answer to the browser contains `iss` (RFC 9207).
    package var namesIssuerInAnswer: Bool

    /// - Throws: ``OpenIDFailure/unreadable(_:)`` if a member is missing, the issuer differs, an
    ///   address is not secure, or the provider says that it does not support what a sign-in needs.
    package init(parsing bytes: [UInt8], of issuer: ProviderURL) throws(OpenIDFailure) {
        guard let json = try? JSON(parsing: bytes), json.members != nil else {
            throw .unreadable("its configuration is not a JSON object")
        }
        guard json["issuer"]?.string == issuer.text else {
            throw .unreadable("its configuration has another issuer")
        }
        authorizationEndpoint = try Self.url("authorization_endpoint", in: json, of: issuer)
        tokenEndpoint = try Self.url("token_endpoint", in: json, of: issuer)
        keysURL = try Self.url("jwks_uri", in: json, of: issuer)
        try Self.require("code", in: json["response_types_supported"], "response_types_supported")
        // PKCE is used even if the provider does not list it: others ignore the parameters.
        let methods = Self.words(json["code_challenge_methods_supported"])
        try Self.require("S256", in: methods, "code_challenge_methods_supported")
        let algorithms = Self.words(json["id_token_signing_alg_values_supported"])
        guard algorithms.map({ !$0.isDisjoint(with: SigningAlgorithm.names) }) ?? true else {
            throw .unreadable("it signs ID tokens with neither RS256 nor ES256")
        }
        // Without the member, a provider accepts the header (Discovery 1.0, 3).
        let ways = Self.words(json["token_endpoint_auth_methods_supported"])
        takesSecretInBody = ways.map { !$0.contains("client_secret_basic") } ?? false
        if takesSecretInBody {
            try Self.require(
                "client_secret_post", in: ways, "token_endpoint_auth_methods_supported")
        }
        namesIssuerInAnswer =
            json["authorization_response_iss_parameter_supported"]?.bool ?? false
    }

    private static func url(
        _ key: String, in json: JSON, of issuer: ProviderURL
    ) throws(OpenIDFailure) -> ProviderURL {
        guard let url = json[key]?.string.flatMap({ ProviderURL($0) }) else {
            throw .unreadable("\(key) is missing, or is not an https address")
        }
        // Otherwise a provider elsewhere could make this server send requests within its machine.
        guard issuer.isLoopback || !url.isLoopback else {
            throw .unreadable("\(key) is an address of this machine")
        }
        return url
    }

    private static func words(_ json: JSON?) -> Set<String>? {
        json?.array.map { Set($0.compactMap(\.string)) }
    }

    private static func require(
        _ word: String, in json: JSON?, _ key: String
    ) throws(OpenIDFailure) {
        try require(word, in: words(json), key)
    }

    private static func require(
        _ word: String, in words: Set<String>?, _ key: String
    ) throws(OpenIDFailure) {
        guard words?.contains(word) ?? true else {
            throw .unreadable("\(key) does not contain \(word)")
        }
    }
}
