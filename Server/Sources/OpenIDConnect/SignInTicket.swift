import AppStoreFormats
import Crypto
import Ledger

/// A sign-in that has begun in a browser. The browser stores the ticket in a cookie.
///
/// The ticket has one secret. `state`, `nonce` and the verifier of PKCE are derived from it, so
/// that none of them reveals the others, and only the browser with the cookie can complete the
/// sign-in. A code of the server protects the ticket, so that a browser cannot extend its life.
package struct SignInTicket: Hashable, Sendable {
    /// How long after its begin a sign-in can be completed.
    package static let life = Duration.seconds(600)
    static let secretBytes = 32
    /// The maximum length of the path to which the visitor returns. A longer path is replaced by
    /// the overview's.
    package static let nextBytesMax = 1_024
    private static let textBytesMax = 2_048

    /// Random bytes, known to the browser and the server.
    package let secret: [UInt8]
    package let begunAt: Instant
    /// The path to which the visitor returns.
    package let next: String

    /// - Parameter secret: 32 random bytes.
    package init(secret: [UInt8], begunAt: Instant, next: String) {
        precondition(secret.count == Self.secretBytes, "A ticket needs 32 random bytes.")
        self.secret = secret
        self.begunAt = begunAt
        self.next = next.utf8.count <= Self.nextBytesMax ? next : "/"
    }

    /// Protects the answer of the provider against forgery (RFC 6749, 10.12).
    package var state: String { derived("state") }
    /// Binds the ID token to this sign-in (OpenID Connect Core 1.0, 3.1.2.1).
    package var nonce: String { derived("nonce") }
    /// The secret of PKCE (RFC 7636, 4.1): 43 characters.
    package var verifier: String { derived("verifier") }
    /// The challenge of PKCE by the method S256.
    package var challenge: String {
        Self.text(Base64.url.encode(Array(SHA256.hash(data: Array(verifier.utf8)))))
    }
    /// The SHA-256 of the secret, by which a used ticket is recorded.
    package var hash: [UInt8] { Array(SHA256.hash(data: secret)) }
    /// From when on the sign-in can no longer be completed.
    package var until: Instant { begunAt + Self.life }

    private func derived(_ purpose: String) -> String {
        let code = HMAC<SHA256>.authenticationCode(
            for: Array("sign-in \(purpose)".utf8), using: SymmetricKey(data: secret))
        return Self.text(Base64.url.encode(Array(code)))
    }

    /// Whether a text equals ``state``. Takes the same time for every other text.
    package func hasState(_ text: String) -> Bool {
        SymmetricKey(data: Array(text.utf8)) == SymmetricKey(data: Array(state.utf8))
    }

    // MARK: - The cookie

    /// The ticket as the value of a cookie.
    ///
    /// - Parameter key: the secret of the servers with one database.
    package func cookie(key: [UInt8]) -> String {
        let content =
            "\(Self.text(Base64.url.encode(secret))).\(begunAt.milliseconds)."
            + Self.text(Base64.url.encode(Array(next.utf8)))
        return "\(content).\(Self.code(of: content, key: key))"
    }

    /// Reads what ``cookie(key:)`` returns. Returns nil for any other text, and for a ticket that
    /// has expired, or that begins later than the clocks of two servers may differ.
    package init?(cookie text: String, key: [UInt8], now: Instant) {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard text.utf8.count <= Self.textBytesMax, parts.count == 4,
            let secret = Base64.url.decode(Array(parts[0].utf8)), secret.count == Self.secretBytes,
            let milliseconds = Int64(parts[1]),
            let next = Base64.url.decode(Array(parts[2].utf8))
        else { return nil }
        let code = Self.code(of: parts[0..<3].joined(separator: "."), key: key)
        guard SymmetricKey(data: Array(parts[3].utf8)) == SymmetricKey(data: Array(code.utf8))
        else { return nil }
        self.init(
            secret: secret, begunAt: Instant(milliseconds: milliseconds),
            next: Self.text(next))
        guard begunAt <= now + IDTokenVerifier.leeway, now < until else { return nil }
    }

    private static func code(of content: String, key: [UInt8]) -> String {
        let code = HMAC<SHA256>.authenticationCode(
            for: Array("ticket \(content)".utf8), using: SymmetricKey(data: key))
        return text(Base64.url.encode(Array(code)))
    }

    private static func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }
}
