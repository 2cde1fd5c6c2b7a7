import HTTPTypes
import Hummingbird
import Ledger

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// What RevenueCat's SDK sends in token mode instead of a key and an id in the path: an unsigned
/// JWT
/// (RFC 7519 §6) that holds the public key of the app, the id, and perhaps a proof of identity.
///
/// A token is only a container. It proves no more than a key, an id and a proof that are sent
/// separately, so a signature would add nothing: the proof is signed by the app's own server, and
/// an id without log-in cannot be guessed. Nothing is stored, so there is nothing to revoke.
struct RevenueCatToken: Codable, Hashable, Sendable {
    /// The maximum length of a token, in bytes. A proof of the greatest length makes one of 6 KiB.
    private static let bytesMax = 16_384
    private static let header = Data(#"{"alg":"none","typ":"JWT"}"#.utf8)

    /// The app's public key of RevenueCat, with which the device has logged in.
    var key: String
    /// The customer's id. The SDK reads it from the token, and uses it from then on.
    private var appUserID: String
    /// How the customer logged in, in the SDK's words. The SDK takes a customer without log-in for
    /// one if this is `anonymous`.
    private var methods: [String]
    /// The proof of identity for every request. Nil for an id without log-in.
    var proof: String?

    private enum CodingKeys: String, CodingKey {
        case key = "azp"
        case appUserID = "rc.app_user_id"
        case methods = "amr"
        case proof
    }

    var id: CustomerID { CustomerID(rawValue: appUserID) }

    init(key: String, id: CustomerID, proof: String?) {
        self.key = key
        appUserID = id.rawValue
        methods = [proof == nil ? "anonymous" : "oidc"]
        self.proof = proof
    }

    /// Returns nil for anything that is no token of this server, such as a key.
    init?(_ text: String) {
        guard text.utf8.count <= Self.bytesMax else { return nil }
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3, parts[2].isEmpty, Self.bytes(of: parts[0]) == Self.header,
            let payload = Self.bytes(of: parts[1]),
            let token = try? JSONDecoder().decode(Self.self, from: payload)
        else { return nil }
        self = token
    }

    /// The token as text.
    var text: String {
        get throws {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
            let payload = try encoder.encode(self)
            return "\(Self.text(of: Self.header)).\(Self.text(of: payload))."
        }
    }

    /// The token without its proof. The SDK stores it to name this customer at the next log-in.
    var withoutProof: Self {
        var token = self
        token.proof = nil
        return token
    }

    // MARK: - Base64url (RFC 4648 §5), without padding

    private static func text(of bytes: Data) -> String {
        bytes.base64EncodedString().replacing("+", with: "-").replacing("/", with: "_")
            .replacing("=", with: "")
    }

    private static func bytes(of text: Substring) -> Data? {
        let padding = String(repeating: "=", count: (4 - text.utf8.count % 4) % 4)
        let standard = String(text).replacing("-", with: "+").replacing("_", with: "/")
        return Data(base64Encoded: standard + padding)
    }
}

extension RevenueCatGate {
    /// The two forms of a route about one customer: with the id in the path, and in token mode.
    ///
    /// - Parameter rest: the path after the customer.
    /// - Parameter callers: who may call the form with the id.
    /// - Parameter finality: which failures of the form with a token are final answers. Of a device
    ///   without a token, no later request is better, so there they are as usual.
    func about(
        _ method: HTTPRequest.Method, _ rest: String, _ id: String,
        from callers: Callers = .devices, signed: RevenueCatSigned = .never,
        finality: Finality = .usual, _ answer: @escaping Route.KeyedHandler
    ) -> [Route] {
        [
            keyed(
                method, "/v1/subscribers/{id}" + rest, id, from: callers, signed: signed, answer),
            keyed(
                method, "/v1/customer" + rest, id + "ByToken", signed: signed, finality: finality
            ) { request, context, holder in
                guard let token = Self.token(of: request) else {
                    throw RevenueCatProblem(
                        finality == .usual ? .unauthorized : .serviceUnavailable, .invalidToken,
                        "Log in first: this call needs the token of POST /auth/login.")
                }
                var context = context
                context.customerOfToken = token.id
                return try await answer(request, context, holder)
            },
        ]
    }

    static func token(of request: Request) -> RevenueCatToken? {
        BearerKey(request.headers).flatMap { RevenueCatToken($0.text) }
    }

    /// The request with the proof that its token holds, as our own routes expect it.
    static func proven(_ request: Request) -> Request {
        guard let token = token(of: request) else { return request }
        return Self.proven(request, by: token.proof)
    }

    /// The request with a proof, or without one.
    static func proven(_ request: Request, by proof: String?) -> Request {
        var head = request.head
        head.headerFields[.customerProof] = proof
        return Request(head: head, body: request.body)
    }
}
