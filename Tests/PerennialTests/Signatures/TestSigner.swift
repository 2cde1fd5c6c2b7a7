import Foundation

@testable import Perennial
@testable import PerennialContract

#if canImport(CryptoKit)
    import CryptoKit
#else
    import Crypto
#endif

/// Signs tokens and offerings as the server does.
struct TestSigner {
    let id: String
    private let key = P256.Signing.PrivateKey()

    init(_ id: String) { self.id = id }

    var published: TokenKeySet.Key {
        let point = key.publicKey.rawRepresentation
        return TokenKeySet.Key(
            id: id, x: Base64URL.encode(point.prefix(32)), y: Base64URL.encode(point.suffix(32)))
    }

    var signingKey: SigningKey { SigningKey(published)! }

    /// - Parameter header: the whole header as JSON. If nil, the usual header.
    func jws(_ payload: String, type: String = "JWT", header: String? = nil) -> String {
        let header = header ?? #"{"alg":"ES256","kid":"\#(id)","typ":"\#(type)"}"#
        let text = Base64URL.encode(header.utf8) + "." + Base64URL.encode(payload.utf8)
        guard let signature = try? key.signature(for: Data(text.utf8)).rawRepresentation else {
            preconditionFailure("A key in memory always signs.")
        }
        return text + "." + Base64URL.encode(signature)
    }

    func introduction(
        of next: TestSigner, audience: String = "birds/keys", type: String = "key-introduction+jwt"
    ) -> String {
        let key = next.published
        return jws(
            #"{"aud":"\#(audience)","iat":1798000000,"key":{"kid":"\#(key.id)","kty":"EC","#
                + #""crv":"P-256","alg":"ES256","use":"sig","x":"\#(key.x)","y":"\#(key.y)"}}"#,
            type: type)
    }

    /// A token of anna, with some claims replaced by other JSON. An empty text removes a claim.
    func token(_ changes: [String: String] = [:], header: String? = nil) -> String {
        var claims = [
            "iat": "1798000000", "exp": "1798003600", "offline_until": "1800592000",
            "seq": "1798000000123", "iss": #""perennial""#, "aud": #""birds""#,
            "sub": #""anna""#, "environment": #""production""#,
            "entitlements":
                #"{"pro":{"state":"paid","until":1798286400,"original_transaction_id":"200"}}"#,
            "purchases": #"{"200":"theirs","201":"shared"}"#,
        ]
        for (name, value) in changes { claims[name] = value.isEmpty ? nil : value }
        let members = claims.sorted { $0.key < $1.key }.map { #""\#($0.key)":\#($0.value)"# }
        return jws("{" + members.joined(separator: ",") + "}", header: header)
    }
}
