import AppStoreFormats
import Engine
import Foundation
import Ledger
import Yams

/// Parses restore policies, proofs of identity, and tokens.
extension ConfigurationReader {
    static let restoreKeys = Ledger.Environment.allCases.map(\.rawValue) + ["share"]
    static let shareKeys = ["most"]

    /// Reads one policy for both environments, or one policy for each environment: `restore: keep`,
    /// or `restore: {production: keep, sandbox: transfer}`. Each policy may be `share: {most: 3}`.
    mutating func read(restore node: Node, into app: inout AppSettings) {
        if text(node) != nil || node.mapping?["share"] != nil {
            let (policy, rules) = policy(node)
            for environment in Ledger.Environment.allCases {
                app.restorePolicies[environment] = policy
                app.shareRules[environment] = rules
            }
            return
        }
        for (name, value) in members(of: node, known: Self.restoreKeys, in: "restore") {
            guard let environment = Ledger.Environment(rawValue: name) else { continue }
            (app.restorePolicies[environment], app.shareRules[environment]) = policy(value)
        }
    }

    static let sharesRange = 1...1000

    /// Parses a policy: a word such as `keep`, or `share: {most: 3}`.
    private mutating func policy(_ node: Node) -> (
        OwnershipClaim.RestorePolicy?, OwnershipClaim.ShareRules?
    ) {
        guard node.mapping != nil else {
            return (word(node, "not a restore policy"), nil)
        }
        guard let share = members(of: node, known: ["share"], in: "restore")["share"] else {
            complain(
                node, "This is not a restore policy.",
                "Use a word such as `keep`, or `share: {most: 3}`.")
            return (nil, nil)
        }
        let members = members(of: share, known: Self.shareKeys, in: "share")
        let most = members["most"].flatMap { number($0, in: Self.sharesRange, of: "most") }
        return (.share, most.map { OwnershipClaim.ShareRules(most: $0) })
    }

    static let identityKeys = [
        "proof", "secret_file", "secret_env", "public_key_file", "endless", "audience", "issuer",
        "account_tokens", "join_people", "growth_per_hour",
    ]
    static let growthRange = 1_000...1_000_000

    /// Parses a claim that a JWT must have. An unreadable value is an error, because without the
    /// check tokens for another audience would be accepted.
    private mutating func claim(_ node: Node, _ name: String) -> String? {
        if let text = nonEmptyText(node) { return text }
        complain(node, "\(name) must be text.", "Use one name, such as `\(name): birds`.")
        return nil
    }

    /// Reads `identity: {proof: hmac, secret_env: BIRDS_IDENTITY_SECRET}`.
    mutating func read(identity node: Node, into app: inout AppSettings) {
        let members = members(of: node, known: Self.identityKeys, in: "identity")
        if let tokens = members["account_tokens"] {
            app.accountTokens = word(tokens, "not a meaning of account tokens") ?? .customers
        }
        if let joins = members["join_people"] { app.joinsPeople = bool(joins) ?? false }
        if let growth = members["growth_per_hour"] {
            app.growthPerHour =
                number(growth, in: Self.growthRange, of: "growth_per_hour") ?? app.growthPerHour
        }
        app.proof = proof(members, at: node)
    }

    private mutating func proof(_ members: [String: Node], at node: Node) -> IdentityProof? {
        guard let kind = members["proof"] else {
            let others: Set = ["account_tokens", "join_people", "growth_per_hour"]
            if !members.isEmpty, others.isSuperset(of: members.keys) { return nil }
            complain(node, "identity has no proof.", "Add `proof: hmac` or `proof: jwt`.")
            return nil
        }
        let claims = IdentityProof.Claims(
            audience: members["audience"].flatMap { claim($0, "audience") },
            issuer: members["issuer"].flatMap { claim($0, "issuer") })
        switch (text(kind), members["public_key_file"]) {
        case ("hmac", nil):
            let endless = takesEndless(members, at: node)
            return secret(members, at: node).map { .hmac($0, endless: endless) }
        case ("jwt", nil): return secret(members, at: node).map { .token($0, claims) }
        case ("jwt", let file?): return publicKey(file).map { .signedToken(publicKey: $0, claims) }
        default:
            complain(
                kind, "“\(text(kind) ?? "…")” is not a supported proof of identity.",
                "Use `hmac` with a secret, or `jwt` with a secret or a public_key_file.")
            return nil
        }
    }

    /// Whether codes without an expiry are accepted, as in earlier versions.
    private mutating func takesEndless(_ members: [String: Node], at place: Node) -> Bool {
        for key in ["audience", "issuer"] {
            guard let node = members[key] else { continue }
            complain(node, "Proofs by hmac have no \(key).", "Leave it out, or use `proof: jwt`.")
        }
        guard let node = members["endless"] else {
            warn(
                place, "A proof by hmac is accepted only if it has an expiry: SECONDS.CODE.",
                "Set `endless: true` below identity while your backend makes proofs without an "
                    + "expiry, or else `endless: false`.")
            return false
        }
        return bool(node) ?? false
    }

    static let tokenMinutesRange = 1...Int(TokenRules.lifeMax.components.seconds / 60)
    static let tokenKeys: [Key<TokenRules>] = [
        Key("minutes", \.life, in: tokenMinutesRange) { .seconds($0 * 60) },
        Key("issuer", \.issuer) { $0.nonEmptyText($1) },
        Key("offline_days", \.offlineDays, in: 0...TokenRules.offlineDaysMax) { $0 },
    ]

    /// Parses `tokens: {minutes: 60, issuer: https://iap.example.com}`, or `tokens: false` for
    /// none.
    mutating func tokens(_ node: Node) -> TokenRules? {
        if text(node) == "false" { return nil }
        var rules = TokenRules()
        read(node, Self.tokenKeys, into: &rules, in: "tokens")
        return rules
    }

    /// The minimum length of a secret, in characters. A shorter secret could be guessed.
    private static let proofSecretCharactersMin = 32

    private mutating func secret(_ members: [String: Node], at place: Node) -> AppSecret? {
        let found = hidden("secret", in: members)
        guard let secret = found?.text, secret.count >= Self.proofSecretCharactersMin else {
            complain(
                found?.node ?? place, "There is no valid secret for verifying proofs.",
                "Use secret_env or secret_file to name a secret of at least "
                    + "\(Self.proofSecretCharactersMin) characters, such as `openssl rand -hex 32`."
            )
            return nil
        }
        return AppSecret(secret)
    }

    private mutating func publicKey(_ node: Node) -> [UInt8]? {
        do {
            return try IdentityProof.publicKey(pem: textOfFile(node) ?? "")
        } catch {
            complain(
                node, "\(text(node) ?? "public_key_file") contains no P-256 public key.",
                "Save it as PEM: `openssl ec -in key.pem -pubout`.")
            return nil
        }
    }
}

extension AppSettings {
    var restoreLines: [String] {
        restorePolicies.map { environment, policy in
            let most = policy == .share ? ", at most \(shareRules(in: environment).most)" : ""
            return "restore in \(environment.rawValue): \(policy.rawValue)\(most)"
        }
    }

    var identityLines: [String] {
        [proofLine] + (accountTokens == .other ? ["account tokens name no customers"] : [])
            + (joinsPeople ? ["app keys may make one customer of two persons"] : [])
            + (growthPerHour == Self.growthPerHourDefault
                ? [] : ["growth_per_hour \(growthPerHour)"])
    }

    private var proofLine: String {
        switch proof {
        case nil: "identity without proof"
        case .hmac(_, let endless)?:
            "identity by hmac" + (endless ? ", also without an expiry" : "")
        case .token(_, let claims)?: "identity by jwt with a secret" + Self.words(claims)
        case .signedToken(_, let claims)?: "identity by jwt with a public key" + Self.words(claims)
        }
    }

    private static func words(_ claims: IdentityProof.Claims) -> String {
        (claims.audience.map { ", for the audience \($0)" } ?? "")
            + (claims.issuer.map { ", by the issuer \($0)" } ?? "")
    }

    var tokenLine: String {
        guard let tokens else { return "no tokens" }
        let minutes = (tokens.life.components.seconds / 60).counted("minute")
        return "tokens by \(tokens.issuer), for \(minutes), "
            + "offline for \(tokens.offlineDays.counted("day"))"
    }
}
