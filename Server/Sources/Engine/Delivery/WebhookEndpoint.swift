import Ledger
import Storage

/// The webhooks of an app as configured.
package struct WebhookRules: Hashable, Sendable {
    package var endpoints: [ConfiguredWebhook]
    /// Names of hosts whose addresses need not be public.
    package var privateHosts: Set<String>
    /// Whether addresses of this machine are permitted, as in development.
    package var allowsLoopback: Bool

    package init(
        endpoints: [ConfiguredWebhook] = [], privateHosts: Set<String> = [],
        allowsLoopback: Bool = false
    ) {
        self.endpoints = endpoints
        self.privateHosts = privateHosts
        self.allowsLoopback = allowsLoopback
    }

    package static let none = Self()

    /// The maximum number of an app's webhooks, from the configuration and the API together.
    package static let webhooksMax = 20
    package static let urlBytesMax = 2_000

    /// Whether webhooks may be posted to a URL. The URL must have the scheme https, unless its host
    /// is a permitted private host. The host must be a plain name or address. The URL must have no
    /// user, password or fragment.
    package func permits(url: String) -> Bool {
        guard url.utf8.count <= Self.urlBytesMax,
            url.utf8.allSatisfy({ (0x21...0x7E).contains($0) && $0 != UInt8(ascii: "#") }),
            let separator = url.firstRange(of: "://")
        else { return false }
        let scheme = url[..<separator.lowerBound]
        let place = url[separator.upperBound...].prefix { $0 != "/" && $0 != "?" }
        guard let host = Self.host(of: place) else { return false }
        switch scheme {
        case "https": return true
        case "http": return plainHosts.contains(host.lowercased())
        default: return false
        }
    }

    private static let ownHosts: Set = ["localhost", "127.0.0.1", "::1"]

    /// The hosts that may be used without TLS, in lower case: messages to them do not leave the
    /// operator's network.
    package var plainHosts: Set<String> {
        let own = allowsLoopback ? Self.ownHosts : []
        return own.union(privateHosts.map { $0.lowercased() })
    }

    /// The host of a host and port. Returns nil if the host or the port is malformed.
    private static func host(of place: Substring) -> String? {
        let end = place.lastIndex(of: "]") ?? place.startIndex
        let colon = place[end...].lastIndex(of: ":")
        if let colon {
            let port = Int(place[place.index(after: colon)...])
            guard let port, (1...65_535).contains(port) else { return nil }
        }
        var host = place[..<(colon ?? place.endIndex)]
        if host.hasPrefix("[") {
            guard host.hasSuffix("]") else { return nil }
            host = host.dropFirst().dropLast()
            return !host.isEmpty && host.allSatisfy { $0.isHexDigit || $0 == ":" || $0 == "." }
                ? String(host) : nil
        }
        return !host.isEmpty
            && host.allSatisfy {
                $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "." || $0 == "-" || $0 == "_")
            } ? String(host) : nil
    }
}

/// A webhook of the configuration.
package struct ConfiguredWebhook: Hashable, Sendable {
    package var id: WebhookID
    package var settings: WebhookSettings
    /// The secrets. Each secret makes a signature.
    package var secrets: [String]
    package var isPaused: Bool

    package init(
        id: WebhookID, settings: WebhookSettings, secrets: [String], isPaused: Bool = false
    ) {
        self.id = id
        self.settings = settings
        self.secrets = secrets
        self.isPaused = isPaused
    }
}

/// A webhook in force, from the configuration or the API.
package struct WebhookEndpoint: Hashable, Sendable {
    package var app: AppID
    package var settings: WebhookSettings
    package var isConfigured: Bool
    /// Whether the configuration pauses the webhook.
    package var isPausedByFile: Bool
    package var secrets: [String]
    package var stored: StoredWebhook

    package var id: WebhookID { stored.id }
    package var isPaused: Bool { isPausedByFile || stored.pausedAt != nil }

    /// Whether the webhook equals a former version of itself in its settings, its secrets, its
    /// pause and its hold. If not, the attempts that began with the former version must stop.
    func isSame(as former: WebhookEndpoint) -> Bool {
        settings == former.settings && secrets == former.secrets && isPaused == former.isPaused
            && stored.heldUntil == former.stored.heldUntil
    }

    /// Whether deliveries may be attempted now.
    func isOpen(at now: Instant) -> Bool {
        !isPaused && (stored.heldUntil.map { $0 <= now } ?? true)
    }

    /// - Parameter now: the present time, which decides whether former secrets still sign.
    init?(_ stored: StoredWebhook, of app: AppSettings, at now: Instant) {
        self.app = app.id
        self.stored = stored
        if let settings = stored.settings {
            self.settings = settings
            isConfigured = false
            isPausedByFile = false
            secrets = (stored.secret.map { [$0] } ?? []) + stored.signingFormers(at: now).reversed()
        } else {
            let known = app.webhooks.endpoints.first { $0.id == stored.id }
            guard let known else { return nil }
            settings = known.settings
            isConfigured = true
            isPausedByFile = known.isPaused
            secrets = known.secrets
        }
    }
}

extension WebhookEndpoint {
    /// A webhook that was removed from the configuration. The settings of this webhook are unknown,
    /// and its URL is empty.
    init(_ stored: StoredWebhook, formerlyOf app: AppID) {
        self.app = app
        self.stored = stored
        settings = WebhookSettings(url: "")
        isConfigured = true
        isPausedByFile = false
        secrets = []
    }
}

extension StoredWebhook {
    /// The former secrets that still sign, the oldest first.
    func signingFormers(at now: Instant) -> [String] {
        formerUntil.map { $0 > now } == true ? formerSecrets : []
    }

    /// The former secrets that continue to sign after a rotation, and the time until which they
    /// sign. The receiver may have the secret from before the rotation. If that secret was a
    /// mistake, or if a rotation was done twice, the receiver may still have the oldest secret.
    func formers(
        afterRotationAt now: Instant, overlap: Duration
    ) -> (secrets: [String], until: Instant) {
        guard let secret, overlap > .zero else { return ([], now) }
        let running = signingFormers(at: now)
        let until = running.isEmpty ? nil : formerUntil
        return (running.prefix(1) + [secret], max(until ?? now, now + overlap))
    }
}

extension WebhookEndpoint {
    /// A text that identifies the secret that a form has shown. The text does not reveal the
    /// secret, because each secret has at least 24 random bytes.
    package var secretMark: String { secretMark(of: stored.secret) }

    /// Whether the secret with this mark was replaced, but still signs.
    package func hasReplaced(_ mark: String) -> Bool {
        secrets.dropFirst().contains { secretMark(of: $0) == mark }
    }

    func secretMark(of secret: String?) -> String {
        IdempotencyKey.digits(
            for: "secret of \(app) \(id) \(secret ?? "")", count: Self.secretMarkDigits)
    }

    private static let secretMarkDigits = 16
}

/// One post to a webhook.
package struct WebhookPost: Sendable {
    package var url: String
    /// The id of the message: the value of the header `webhook-id`.
    package var message: String
    package var body: [UInt8]
    package var secrets: [String]
    package var authorization: String?
    /// The value of the header `traceparent`; nil if no traces are sent.
    package var traceparent: String?
    package var rules: WebhookRules
}

package enum WebhookAnswer: Hashable, Sendable {
    case answer(status: Int, body: String = "", retryAfter: Duration? = nil)
    /// There was no answer, for this reason.
    case failure(String)
    /// There was no attempt, for a reason that has nothing to do with the receiver.
    case notAttempted

    package var isAccepted: Bool {
        if case .answer(let status, _, _) = self { (200..<300).contains(status) } else { false }
    }
}

/// How webhooks are rendered and posted, and the name of this process.
package struct WebhookTransport: Sendable {
    /// The name of this process in leases, unique for each process.
    package var leaseHolder: String
    /// Renders an event. Returns one body for each delivery.
    package var render: @Sendable (WebhookSubject) throws -> [[UInt8]]
    /// Posts to a webhook. Always returns in less than ``lease``.
    package var post: @Sendable (WebhookPost) async -> WebhookAnswer
    /// Makes a new secret.
    package var newSecret: @Sendable () -> String
    /// Whether a text has the form of a secret.
    package var isSecret: @Sendable (String) -> Bool
    /// A random number from 0 to 1.
    package var jitter: @Sendable () -> Double

    /// How long a server may take for a delivery that it has leased. After that, another server may
    /// attempt the delivery.
    package static let lease = Duration.seconds(30)
    /// The maximum number of concurrent attempts of one server for each webhook.
    package static let concurrentAttempts = 8

    package init(
        holder: String, render: @escaping @Sendable (WebhookSubject) throws -> [[UInt8]],
        post: @escaping @Sendable (WebhookPost) async -> WebhookAnswer,
        newSecret: @escaping @Sendable () -> String,
        isSecret: @escaping @Sendable (String) -> Bool,
        jitter: @escaping @Sendable () -> Double = { .random(in: 0...1) }
    ) {
        leaseHolder = holder
        self.render = render
        self.post = post
        self.newSecret = newSecret
        self.isSecret = isSecret
        self.jitter = jitter
    }

    package static let disabled = Self(
        holder: "nobody", render: { _ in [] },
        post: { _ in .failure("this program posts no webhooks") }, newSecret: { "" },
        isSecret: { _ in false })
}
