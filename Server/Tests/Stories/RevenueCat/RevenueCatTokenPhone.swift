import AppStoreFormats
import Crypto
import Engine
import Testing

@testable import Program

/// A phone with RevenueCat's SDK in token mode, which names the customer by a token. It reads
/// tokens by the SDK's rules.
struct RevenueCatTokenPhone: Sendable {
    static let secret = "0123456789abcdef0123456789abcdef"
    /// The end of a proof that does not end during a story: the year 2100.
    static let farAway: Int64 = 4_102_444_800

    let server: Wire
    private(set) var user = ""
    private(set) var accessToken: String?
    private(set) var idToken: String?

    init(_ server: Wire) { self.server = server }

    /// The app, whose own server proves ids by JWTs.
    static func app() -> AppConfiguration {
        var app = RevenueCatPhone.app()
        app.settings.proof = .token(AppSecret(secret))
        return app
    }

    /// A phone that sends the present token, or the key before the first log-in.
    private var phone: RevenueCatPhone {
        RevenueCatPhone(server, as: user, key: accessToken ?? RevenueCatPhone.key)
    }

    /// A JWT by which the app's own server proves an id.
    static func proof(of id: String, until end: Int64 = farAway) -> String {
        let claims: JSON = ["sub": .string(id), "exp": .integer(end)]
        let head: JSON = ["alg": "HS256", "typ": "JWT"]
        let signed = [head, claims].map { Self.text($0.bytes) }.joined(separator: ".")
        let code = HMAC<SHA256>.authenticationCode(
            for: Array(signed.utf8), using: SymmetricKey(data: Array(secret.utf8)))
        return "\(signed).\(Self.text(Array(code)))"
    }

    static func text(_ bytes: [UInt8]) -> String {
        String(decoding: Base64.url.encode(bytes), as: UTF8.self)
    }

    /// A token as a stranger can write it.
    static func forged(_ id: String, proof: String? = nil) -> String {
        var members: [JSON.Member] = [
            .init("amr", ["oidc"]), .init("azp", .string(RevenueCatPhone.key)),
            .init("rc.app_user_id", .string(id)),
        ]
        if let proof { members.append(.init("proof", .string(proof))) }
        let payload = text(JSON.object(members).bytes)
        return "\(text(Array(#"{"alg":"none","typ":"JWT"}"#.utf8))).\(payload)."
    }

    /// Uses a token that somebody has written, also to say who the device was before.
    mutating func use(_ token: String, as id: String) {
        (accessToken, idToken, user) = (token, token, id)
    }

    /// Logs in, and links the customer whom the device was before. The log-in uses the key.
    mutating func logIn(_ method: String, _ token: String? = nil) async throws -> Wire.Answer {
        var members: [JSON.Member] = [
            .init("method", .string(method)), .init("scope", "openid offline_access"),
        ]
        if let token { members.append(.init("id_token", .string(token))) }
        if let idToken, method != "anonymous" {
            members.append(.init("link_to_id", .string(idToken)))
        }
        let device = RevenueCatPhone(server, as: user)
        let answer = try await device.send("POST", "/auth/login", .object(members))
        guard answer.status == 200 else { return answer }
        let json = try answer.json
        _ = try json.text("scope")
        let seconds = try #require(json["expires_in"]?.integer)
        #expect(seconds > 0)
        let access = try json.text("access_token")
        (accessToken, idToken) = (access, json["id_token"]?.string)
        #expect(json["refresh_token"] == nil)
        user = try Self.claims(of: access).text("rc.app_user_id")
        return answer
    }

    /// Logs out: the SDK revokes only refresh tokens, makes a new id, and logs in without a person.
    mutating func logOut() async throws -> Wire.Answer {
        (accessToken, idToken) = (nil, nil)
        return try await logIn("anonymous")
    }

    /// The claims of a token, which the SDK does not verify.
    static func claims(of token: String) throws -> JSON {
        let parts = token.split(separator: ".", omittingEmptySubsequences: false)
        #expect(parts.count == 3)
        let bytes = try #require(Base64.url.decode(Array(parts[1].utf8)[...]))
        return try JSON(parsing: bytes)
    }

    func send(
        _ method: String, _ path: String, _ body: JSON? = nil, _ more: [String: String] = [:]
    ) async throws -> Wire.Answer { try await phone.send(method, path, body, more) }

    func info() async throws -> RevenueCatAnswer {
        let answer = try await send("GET", "/v1/customer")
        #expect(answer.status == 200, "\(String(decoding: answer.body, as: UTF8.self))")
        return try RevenueCatAnswer(try answer.json)
    }

    func post(_ token: String, _ source: String = "purchase") async throws -> Wire.Answer {
        try await phone.post(token, source)
    }
}
