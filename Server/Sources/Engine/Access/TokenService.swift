import AppStoreFormats
import Crypto
import Ledger
import Storage
import Synchronization

/// The settings of the tokens that an app's customers carry.
package struct TokenRules: Hashable, Sendable {
    /// How long a token is valid: the time from `iat` to `exp`.
    package var life: Duration
    /// The `iss` of production tokens.
    package var issuer: String
    /// The days from `iat` to `offline_until`: how long a device without a network may rely on the
    /// token.
    package var offlineDays: Int

    package static let lifeDefault = Duration.seconds(3600)
    package static let lifeMax = Duration.hours(24)
    package static let issuerDefault = "perennial"
    package static let offlineDaysDefault = 30
    package static let offlineDaysMax = 365
    /// The suffix that is appended to the issuer and the app's name in sandbox tokens, so that a
    /// verifier rejects them even if it does not check the environment. No app's name contains a
    /// slash.
    package static let sandboxSuffix = "/sandbox"

    package init(
        life: Duration = Self.lifeDefault, issuer: String = Self.issuerDefault,
        offlineDays: Int = Self.offlineDaysDefault
    ) {
        self.life = life
        self.issuer = issuer
        self.offlineDays = offlineDays
    }

    /// The time until which devices without a network may rely on the token. This time is never
    /// before `exp`.
    func offlineEnd(from issued: Instant) -> Instant {
        issued + max(life, .days(offlineDays))
    }
}

/// Signs tokens and caches them: a signature costs more than the rest of a response.
final class TokenMint: Sendable {
    /// The maximum number of tokens in the cache. A full cache is cleared.
    static let tokensMax = 10_000
    /// The maximum time, in seconds, after which this process notices and uses a new key of another
    /// server.
    static let keyLifeSeconds = 60

    struct SigningKey: Sendable {
        var id: String
        var key: P256.Signing.PrivateKey
    }

    fileprivate struct Remembered {
        var key: SigningKey
        var until: ContinuousClock.Instant
    }

    /// The customer, app and environment of a token.
    struct Holder: Hashable, Sendable {
        var app: AppID
        var environment: Environment
        var customer: CustomerID
    }

    /// The last token of a holder. The token has no text while it is being signed.
    fileprivate struct Minted {
        var keyID: String
        var content: [UInt8]
        var issuedAt: Instant
        var sequence: Int64
        var token: String?
    }

    fileprivate struct Link: Hashable {
        var introducer: String
        var introduced: String
    }

    fileprivate struct Memory {
        var keyLife = Duration.seconds(TokenMint.keyLifeSeconds)
        var keys: [AppID: Remembered] = [:]
        var tokens: [Holder: Minted] = [:]
        var links: [Link: String] = [:]
    }

    private let memory = Mutex(Memory())

    /// The cached key of an app. Uses the machine's clock, because the engine's virtual time may
    /// stand still or jump.
    func key(of app: AppID) -> SigningKey? {
        let now = ContinuousClock.now
        return memory.withLock { memory in
            memory.keys[app].flatMap { now < $0.until ? $0.key : nil }
        }
    }

    func remember(_ key: SigningKey, of app: AppID) {
        memory.withLock { memory in
            memory.keys[app] = Remembered(key: key, until: .now + memory.keyLife)
        }
    }

    func rememberNoKeys() { memory.withLock { $0.keyLife = .zero } }

    func forgetKey(of app: AppID) {
        _ = memory.withLock { $0.keys.removeValue(forKey: app) }
    }

    /// A token with these claims. If the holder's last token has the same claims and is in the
    /// first half of its life, returns that token again. Never returns an earlier token, because
    /// its `seq` would be out of order.
    func token(
        _ claims: [JSON.Member], of holder: Holder, by key: SigningKey, at now: Instant,
        rules: TokenRules
    ) throws -> String {
        let content = JSON.object(claims).bytes
        let (last, sequence) = memory.withLock { memory -> (String?, Int64) in
            let last = memory.tokens[holder]
            if let last, last.keyID == key.id, last.content == content, last.issuedAt <= now,
                now < last.issuedAt + rules.life / 2, let token = last.token
            {
                return (token, last.sequence)
            }
            return (nil, memory.nextSequence(of: holder, key.id, content, at: now))
        }
        if let last { return last }
        let times: [JSON.Member] = [
            .init("iat", .integer(now.seconds)),
            .init("exp", .integer((now + rules.life).seconds)),
            .init("offline_until", .integer(rules.offlineEnd(from: now).seconds)),
            .init("seq", .integer(sequence)),
        ]
        let token = try key.sign(.object(times + claims))
        memory.withLock { memory in
            guard memory.tokens[holder]?.sequence == sequence else { return }
            memory.tokens[holder]?.token = token
        }
        return token
    }

    /// The text by which one key introduces another. The text of each pair is signed once and
    /// cached.
    func link(
        from introducer: String, to introduced: String, sign: () throws -> String
    ) rethrows -> String {
        let link = Link(introducer: introducer, introduced: introduced)
        if let known = memory.withLock({ $0.links[link] }) { return known }
        let text = try sign()
        return memory.withLock { memory in
            if memory.links.count >= Self.tokensMax { memory.links.removeAll() }
            let known = memory.links[link] ?? text
            memory.links[link] = known
            return known
        }
    }
}

extension TokenMint.Memory {
    /// The `seq` of a new token: the present moment in milliseconds. If the `seq` of the holder's
    /// last token is the same or higher, the new `seq` is the last `seq` plus 1. But if the clock
    /// was set back to before the last token's moment, the new `seq` is the present moment, and so
    /// lower than the last `seq`.
    fileprivate mutating func nextSequence(
        of holder: TokenMint.Holder, _ keyID: String, _ content: [UInt8], at now: Instant
    ) -> Int64 {
        let last = tokens[holder]
        if let last, now < last.issuedAt { return now.milliseconds }
        let sequence = max(now.milliseconds, (last?.sequence ?? 0) + 1)
        if tokens.count >= TokenMint.tokensMax { tokens.removeAll() }
        tokens[holder] = TokenMint.Minted(
            keyID: keyID, content: content, issuedAt: now, sequence: sequence)
        return sequence
    }
}

extension TokenMint.SigningKey {
    /// - Parameter type: the `typ` of the header (RFC 8725 §3.11).
    func sign(_ claims: JSON, type: String = "JWT") throws -> String {
        try CompactJWS.text(claims, by: id, type: type) { bytes in
            [UInt8](try key.signature(for: bytes).rawRepresentation)
        }
    }
}

extension Instant {
    fileprivate var seconds: Int64 { milliseconds / 1000 }
}

/// Signed tokens of what a customer may use, and the keys that sign them.
package struct TokenService: Sendable {
    let context: Context
    let mint: TokenMint

    /// - Parameter former: the service of the previous configuration, whose caches are reused.
    init(context: Context, former: TokenService?) {
        self.context = context
        mint = former?.mint ?? TokenMint()
    }

    /// The customer's entitlements, signed, so that others can check them without a request to this
    /// server. Returns nil if the app issues no tokens.
    package func issue(for state: CustomerState, app appID: AppID) async throws(EngineFailure)
        -> String?
    {
        let (app, _) = try context.app(appID)
        guard app.tokens != nil else { return nil }
        return try issue(for: state, of: app, by: try await signingKey(of: appID))
    }

    func issue(
        for state: CustomerState, of app: AppSettings, by key: TokenMint.SigningKey
    ) throws(EngineFailure) -> String? {
        guard let rules = app.tokens else { return nil }
        do {
            let holder = TokenMint.Holder(
                app: app.id, environment: state.environment, customer: state.id)
            return try mint.token(
                state.claims(of: app, rules), of: holder, by: key, at: state.asOf, rules: rules)
        } catch { throw .storage("Signing a token failed: \(error)") }
    }
}

extension TokenRules {
    /// The claims about the issuer, the app and the environment.
    func audience(of app: AppID, in environment: Environment) -> [JSON.Member] {
        let suffix = environment == .sandbox ? Self.sandboxSuffix : ""
        return [
            .init("iss", .string(issuer + suffix)),
            .init("aud", .string(app.rawValue + suffix)),
        ]
    }
}

extension CustomerState {
    /// The claims about the customer. The claims contain only open entitlements. Verifiers must
    /// also check `until`, which may be earlier than `exp`.
    fileprivate func claims(of app: AppSettings, _ rules: TokenRules) -> [JSON.Member] {
        let open = entitlements.filter(\.value.isOpen).sorted { $0.key < $1.key }
        let seats = Set(purchases.map(\.timeline).filter { $0.seat != nil }.map(\.purchase))
        let rights = open.map { entitlement, right in
            JSON.Member(entitlement.rawValue, right.claim(seats))
        }
        return rules.audience(of: app.id, in: environment) + [
            .init("sub", .string(id.rawValue)),
            .init("environment", .string(environment.rawValue)),
            .init("entitlements", .object(rights)),
            .init("purchases", .object(purchaseClaims)),
        ]
    }

    /// The maximum number of purchases in a token.
    private static let tokenPurchasesMax = 50

    /// The claims about the customer's purchases. If the customer has many purchases, only the
    /// latest are included. With these claims, a device without a network knows which of its
    /// store's purchases belong to the customer.
    private var purchaseClaims: [JSON.Member] {
        let own = ownerships.filter { $0.purchase.appTransaction == nil }
        return own.sorted { $0.purchase < $1.purchase }.suffix(Self.tokenPurchasesMax).map {
            .init($0.purchase.original.rawValue, $0.kind == .shared ? "shared" : "theirs")
        }
    }
}

extension EntitlementStatus {
    /// Whether the purchase may renew at `until`, so that an offline device may wait for the
    /// renewal.
    private var mayRenew: Bool {
        switch state {
        case .paid, .trial, .offer: until != nil && willRenew != false
        default: false
        }
    }

    /// - Parameter seats: the purchases of others in which the customer has a seat. A device cannot
    ///   ask its App Store about such a purchase, so the claim names no transaction.
    fileprivate func claim(_ seats: Set<PurchaseID>) -> JSON {
        var members: [JSON.Member] = [
            .init("state", .string(state.rawValue)),
            .init("until", until.map { .integer($0.seconds) } ?? .null),
        ]
        if mayRenew { members.append(.init("renews", .bool(true))) }
        if case .purchase(let purchase, _) = source, !seats.contains(purchase) {
            let app = purchase.appTransaction
            members.append(
                .init(
                    app == nil ? "original_transaction_id" : "app_transaction_id",
                    .string((app ?? purchase.original).rawValue)))
        }
        return .object(members)
    }
}
