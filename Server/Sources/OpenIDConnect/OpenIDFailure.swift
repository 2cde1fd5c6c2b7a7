/// The reason why a sign-in by a provider did not succeed. The texts contain no code, no token and
/// no secret, so they may be logged.
package enum OpenIDFailure: Error, Hashable, Sendable, CustomStringConvertible {
    /// The provider did not respond as expected: see the text. A later try may succeed.
    case unavailable(String)
    /// A document of the provider breaks a rule: the text says which document, and which rule.
    case unreadable(String)
    /// The provider refused, with this error code (RFC 6749, 4.1.2.1 and 5.2).
    case refused(code: String)
    /// The ID token was not accepted.
    case rejected(IDTokenDefect)
    /// The maximum number of requests to the provider is already waiting.
    case busy

    package var description: String {
        switch self {
        case .unavailable(let reason): "the provider is not available: \(reason)"
        case .unreadable(let reason): "an answer of the provider is not valid: \(reason)"
        case .refused(let code): "the provider refused: \(code)"
        case .rejected(let defect): "the ID token was not accepted: \(defect.rawValue)"
        case .busy: "too many requests to the provider are waiting"
        }
    }

    private static let codeCharactersMax = 64

    /// A refusal with a code that the provider sent. Text that is not a code is left out, because
    /// anybody can write it into an address.
    package static func refusal(_ code: String) -> Self {
        let isCode =
            (1...codeCharactersMax).contains(code.utf8.count)
            && code.allSatisfy { $0.isASCII && ($0.isLowercase || $0 == "_") }
        return .refused(code: isCode ? code : "unknown_error")
    }
}

/// What is wrong with an ID token.
package enum IDTokenDefect: String, Hashable, Sendable, CaseIterable {
    case form = "it is not a signed token that can be read"
    case algorithm = "it is signed by an algorithm other than RS256 and ES256"
    case criticalHeader = "its header requires an extension"
    case unknownKey = "the provider's keys do not contain the key that signed it"
    case signature = "its signature is wrong"
    case repeatedClaim = "a claim is repeated"
    case issuer = "iss is not the issuer"
    case audience = "aud does not contain the client_id"
    case authorizedParty = "azp is not the client_id"
    case expired = "exp has passed"
    case issuedAt = "iat is missing, in the future, or too long ago"
    case notYet = "nbf is in the future"
    case nonce = "nonce is not the one of this sign-in"
    case subject = "sub is missing, or has no valid form"
    case accessTokenHash = "at_hash is not the hash of the access token"
}
