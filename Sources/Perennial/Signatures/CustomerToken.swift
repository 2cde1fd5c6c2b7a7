internal import AccessRules
internal import PerennialContract

/// A token whose signature and claims were checked: what the server said about one customer.
struct CustomerToken: Hashable, Sendable {
    /// The `typ` of the token's header.
    static let type = "JWT"
    /// How many milliseconds `iat` may be ahead of the reckoned time.
    static let aheadMax: Int64 = 86_400_000
    /// The maximum number of entitlements, and of purchases, that are read from one token.
    static let membersMax = 1_000

    /// The signed text.
    let text: String
    /// The app's name in the server's configuration.
    let app: String
    let customerID: String
    let environment: StoreEnvironment
    /// When the token was signed: the claim `iat`.
    let issuedAt: Timestamp
    /// When the token expires: the claim `exp`.
    let expiresAt: Timestamp
    /// The time until which a device without a network may rely on the token.
    let offlineUntil: Timestamp
    /// A number that orders the tokens of one customer.
    let sequence: Int64
    let entitlements: [String: Entitlement]
    /// The original transaction ids of the customer's purchases.
    let purchases: Set<String>

    struct Entitlement: Hashable, Sendable {
        var state: AccessState
        /// When the entitlement ends. Nil if the entitlement never ends.
        var until: Timestamp?
        /// Whether the entitlement may renew at ``until``.
        var mayRenew: Bool
        /// The purchase that gives the entitlement. Nil for a grant.
        var originalTransactionID: String?
    }

    /// What a token must contain to be accepted.
    struct Expectation: Sendable {
        var audience: Audience
        /// All ids of the customer.
        var customerIDs: Set<String>
        /// The reckoned time.
        var now: Timestamp
    }

    /// Verifies a token. Returns nil if no key of the ring signed it, or if it does not match the
    /// expectation. Does not check whether the token has expired: the rules of access decide that.
    init?(_ text: String, by ring: KeyRing, expected: Expectation) {
        guard let payload = ring.verify(text, type: Self.type), let claims = SignedJSON(payload),
            let app = expected.audience.app(of: claims), let customerID = claims["sub"]?.string,
            expected.customerIDs.contains(customerID),
            let issuedAt = Timestamp(seconds: claims["iat"]),
            issuedAt.milliseconds - expected.now.milliseconds <= Self.aheadMax,
            let expiresAt = Timestamp(seconds: claims["exp"]), issuedAt <= expiresAt,
            let sequence = claims["seq"]?.integer,
            let entitlements = Self.entitlements(claims["entitlements"]),
            let purchases = Self.purchases(claims["purchases"])
        else { return nil }
        // A token of an earlier version of the server has no `offline_until`. Such a token does not
        // count after `exp`.
        let offline = claims["offline_until"].map { Timestamp(seconds: $0) } ?? expiresAt
        guard let offline, offline >= expiresAt else { return nil }
        self.text = text
        self.app = app
        self.customerID = customerID
        environment = expected.audience.environment
        self.issuedAt = issuedAt
        self.expiresAt = expiresAt
        offlineUntil = offline
        self.sequence = sequence
        self.entitlements = entitlements
        self.purchases = purchases
    }

    private static func entitlements(_ claim: SignedJSON?) -> [String: Entitlement]? {
        guard let members = claim?.object, members.count <= membersMax else { return nil }
        var entitlements: [String: Entitlement] = [:]
        for (name, member) in members {
            guard let entitlement = Entitlement(member) else { return nil }
            entitlements[name] = entitlement
        }
        return entitlements
    }

    private static func purchases(_ claim: SignedJSON?) -> Set<String>? {
        guard let claim else { return [] }
        guard let members = claim.object, members.count <= membersMax else { return nil }
        return Set(members.keys)
    }
}

extension CustomerToken.Entitlement {
    fileprivate init?(_ claim: SignedJSON) {
        guard let state = claim["state"]?.string, let until = claim["until"] else { return nil }
        if until != .null {
            guard let until = Timestamp(seconds: until) else { return nil }
            self.until = until
        }
        self.state = AccessState(rawValue: state)
        mayRenew = claim["renews"]?.bool ?? false
        originalTransactionID = claim["original_transaction_id"]?.string
    }
}

extension CustomerToken {
    /// The time that the token describes: the second in `iat`, with the milliseconds in `seq`.
    var asOf: Timestamp {
        let isSameSecond = sequence / 1000 == issuedAt.milliseconds / 1000
        return isSameSecond ? Timestamp(milliseconds: sequence) : issuedAt
    }

    /// The evidence for the rules of access.
    var serverEvidence: ServerEvidence {
        ServerEvidence(
            asOf: asOf, isLive: false, offlineUntil: offlineUntil,
            rights: entitlements.mapValues { entitlement in
                ServerEvidence.Right(
                    isActive: true, state: entitlement.state, until: entitlement.until,
                    mayRenew: entitlement.mayRenew,
                    originalTransactionID: entitlement.originalTransactionID)
            },
            verdicts: Dictionary(uniqueKeysWithValues: purchases.map { ($0, .theirs) }))
    }
}

extension Timestamp {
    /// The last second that a claim may name: the end of the year 9999.
    static let secondsMax: Int64 = 253_402_300_799

    /// Reads a claim in seconds since 1970 (RFC 7519 §2). Returns nil for any other value.
    init?(seconds claim: SignedJSON?) {
        guard let seconds = claim?.integer, (0...Self.secondsMax).contains(seconds) else {
            return nil
        }
        self.init(milliseconds: seconds * 1000)
    }
}
