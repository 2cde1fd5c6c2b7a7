import AppStoreFormats
import Crypto
import Ledger

/// A request to an authenticator that has begun in a browser. The browser stores the ticket in a
/// cookie.
///
/// The challenge is derived from the ticket's secret, so only the browser with the cookie can send
/// an answer. A code of the server protects the ticket, so that a browser cannot change what it is
/// for. The database records used tickets, so that all servers refuse a second answer.
package struct PasskeyTicket: Hashable, Sendable {
    package enum Purpose: String, Hashable, Sendable, CaseIterable {
        /// A sign-in with a passkey alone.
        case signIn = "sign-in"
        /// The second step of a sign-in, after the password.
        case secondFactor = "second"
        /// The first passkey of an operator who needs one, after the password.
        case enrolment = "first"
        /// Another passkey of an operator who has signed in.
        case registration = "add"

        /// Whether the browser makes a passkey, instead of signing with one.
        package var makesPasskey: Bool {
            switch self {
            case .signIn, .secondFactor: false
            case .enrolment, .registration: true
            }
        }
    }

    /// How long after its begin an answer to the request is accepted.
    package static let life = Duration.seconds(600)
    /// The maximum difference of the clocks of two servers.
    static let leeway = Duration.seconds(60)
    private static let secretBytes = 32
    private static let nextBytesMax = 1_024
    private static let textBytesMax = 3_072

    package let purpose: Purpose
    /// The operator whom the request is about. Empty for a sign-in with a passkey alone.
    package let operatorName: String
    /// The SHA-256 of what the ticket depends on: the stored password of the operator, or the token
    /// of the session. If it changes, the ticket is void. Empty for a sign-in with a passkey alone.
    let bond: [UInt8]
    package let begunAt: Instant
    private let secret: [UInt8]
    /// The path to which the visitor returns.
    package private(set) var next = "/"

    /// Begins a request with a new random secret.
    init(_ purpose: Purpose, of operatorName: String, bond: [UInt8], at now: Instant) {
        self.init(
            purpose, operatorName, bond, now,
            SymmetricKey(size: SymmetricKeySize(bitCount: Self.secretBytes * 8))
                .withUnsafeBytes { Array($0) })
    }

    private init(
        _ purpose: Purpose, _ operatorName: String, _ bond: [UInt8], _ begunAt: Instant,
        _ secret: [UInt8]
    ) {
        self.purpose = purpose
        self.operatorName = operatorName
        self.bond = bond
        self.begunAt = begunAt
        self.secret = secret
    }

    /// A ticket for another answer, after one that was refused. It ends when this one ends.
    package var renewed: Self {
        Self(purpose, of: operatorName, bond: bond, at: begunAt).returning(to: next)
    }

    /// This ticket with the path to which the visitor returns. A path that is too long is replaced
    /// by the overview's.
    package func returning(to next: String) -> Self {
        var ticket = self
        ticket.next = next.utf8.count <= Self.nextBytesMax ? next : "/"
        return ticket
    }

    /// The bytes that the authenticator signs.
    var challenge: [UInt8] {
        Array(
            HMAC<SHA256>.authenticationCode(
                for: Array("passkey challenge".utf8), using: SymmetricKey(data: secret)))
    }
    /// The SHA-256 of the secret, by which a used ticket is recorded.
    var hash: [UInt8] { Array(SHA256.hash(data: secret)) }
    /// From when on an answer is refused.
    var until: Instant { begunAt + Self.life }

    // MARK: - The cookie

    /// The ticket as the value of a cookie.
    ///
    /// - Parameter key: the secret of the servers with one database.
    func cookie(key: [UInt8]) -> String {
        let parts = [Array(operatorName.utf8), bond, secret, Array(next.utf8)].map(Self.text)
        let content = "\(purpose.rawValue).\(begunAt.milliseconds)." + parts.joined(separator: ".")
        return "\(content).\(Self.code(of: content, key: key))"
    }

    /// Reads what ``cookie(key:)`` returns. Returns nil for any other text, and for a ticket that
    /// has expired, or that begins later than the clocks of two servers may differ.
    init?(cookie text: String, key: [UInt8], now: Instant) {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard text.utf8.count <= Self.textBytesMax, parts.count == 7,
            let purpose = Purpose(rawValue: String(parts[0])), let begun = Int64(parts[1]),
            let name = Base64.url.decode(Array(parts[2].utf8)),
            let bond = Base64.url.decode(Array(parts[3].utf8)),
            let secret = Base64.url.decode(Array(parts[4].utf8)), secret.count == Self.secretBytes,
            let next = Base64.url.decode(Array(parts[5].utf8))
        else { return nil }
        let code = Self.code(of: parts[0..<6].joined(separator: "."), key: key)
        guard SymmetricKey(data: Array(parts[6].utf8)) == SymmetricKey(data: Array(code.utf8))
        else { return nil }
        self.init(
            purpose, String(decoding: name, as: UTF8.self), bond, Instant(milliseconds: begun),
            secret)
        self.next = String(decoding: next, as: UTF8.self)
        guard begunAt <= now + Self.leeway, now < until else { return nil }
    }

    private static func code(of content: String, key: [UInt8]) -> String {
        text(
            Array(
                HMAC<SHA256>.authenticationCode(
                    for: Array("passkey \(content)".utf8), using: SymmetricKey(data: key))))
    }

    private static func text(_ bytes: [UInt8]) -> String {
        String(decoding: Base64.url.encode(bytes), as: UTF8.self)
    }
}
