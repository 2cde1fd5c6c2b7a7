import AppStoreFormats
import Engine
import Foundation
import Ledger
import Yams

/// Whose a purchase becomes that another customer has, and by what an app's request shows for whom
/// it speaks.
extension ConfigurationReader {
    /// What becomes of another customer's purchase.
    struct Restoring {
        var policies: [Ledger.Environment: Claim.Policy] = [:]
        /// Only where the file says it.
        var sharing: [Ledger.Environment: Claim.ShareRules] = [:]
    }

    /// One policy for both environments, or one for each: `restore: keep`, or
    /// `restore: {production: keep, sandbox: transfer}`. Each may be `share: {most: 3}`.
    mutating func restore(_ node: Node) -> Restoring {
        var restoring = Restoring()
        if text(node) != nil || node.mapping?["share"] != nil {
            let (policy, rules) = policy(node)
            for environment in Ledger.Environment.allCases {
                restoring.policies[environment] = policy
                restoring.sharing[environment] = rules
            }
            return restoring
        }
        let known = Ledger.Environment.allCases.map(\.rawValue)
        for (name, value) in members(of: node, known: known + ["share"], in: "restore") {
            guard let environment = Ledger.Environment(rawValue: name) else { continue }
            let (policy, rules) = policy(value)
            restoring.policies[environment] = policy
            restoring.sharing[environment] = rules
        }
        return restoring
    }

    static let sharesRange = 1...1000

    /// `keep`, or another word; or `share: {most: 3}`.
    private mutating func policy(_ node: Node) -> (Claim.Policy?, Claim.ShareRules?) {
        guard node.mapping != nil else {
            return (word(node, Claim.Policy.self, "no restore policy"), nil)
        }
        guard let share = members(of: node, known: ["share"], in: "restore")["share"] else {
            complain(
                node, "This is no restore policy.",
                "Write a word such as `keep`, or `share: {most: 3}`.")
            return (nil, nil)
        }
        let members = members(of: share, known: ["most"], in: "share")
        return (
            .share, number("most", members, in: Self.sharesRange).map { Claim.ShareRules(most: $0) }
        )
    }

    /// `identity: {account_tokens: other}`
    mutating func accountTokens(_ node: Node) -> AccountTokens? {
        guard let value = node.mapping?["account_tokens"] else { return nil }
        return word(value, AccountTokens.self, "no meaning of account tokens")
    }

    private static let identityKeys = [
        "proof", "secret_file", "secret_env", "public_key_file", "endless", "audience", "issuer",
        "account_tokens",
    ]

    /// What a JWT has to name. What cannot be read is a fault: a claim that is not checked would
    /// let in what was signed for somebody else.
    private mutating func claim(_ node: Node, _ name: String) -> String? {
        if let text = text(node), !text.isEmpty { return text }
        complain(node, "\(name) is not a text.", "Write one name, such as `\(name): birds`.")
        return nil
    }

    /// `identity: {proof: hmac, secret_env: BIRDS_IDENTITY_SECRET}`
    mutating func proof(_ node: Node) -> IdentityProof? {
        let members = members(of: node, known: Self.identityKeys, in: "identity")
        guard let kind = members["proof"] else {
            if members.count == 1, members["account_tokens"] != nil { return nil }
            complain(node, "identity has no proof.", "Write `proof: hmac` or `proof: jwt`.")
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
                kind, "“\(text(kind) ?? "…")” is no proof of identity that can be checked.",
                "Write `hmac` with a secret, or `jwt` with a secret or a public_key_file.")
            return nil
        }
    }

    /// Whether codes count that have no end, as they had none at first.
    private mutating func takesEndless(_ members: [String: Node], at place: Node) -> Bool {
        for key in ["audience", "issuer"] {
            guard let node = members[key] else { continue }
            complain(node, "An hmac has no \(key).", "Leave it out, or write `proof: jwt`.")
        }
        guard let node = members["endless"] else {
            warn(
                place, "Proofs by hmac are taken with an end only: SECONDS.CODE.",
                "Write `endless: true` below identity as long as your backend makes them without, "
                    + "else `endless: false`.")
            return false
        }
        return bool(node) ?? false
    }

    static let tokenMinutesRange = 1...Int(TokenRules.lifeMax.components.seconds / 60)

    /// `tokens: {minutes: 60, issuer: https://iap.example.com}`, or `tokens: false` for none.
    mutating func tokens(_ node: Node) -> TokenRules? {
        if text(node) == "false" { return nil }
        var rules = TokenRules()
        let members = members(of: node, known: ["minutes", "issuer"], in: "tokens")
        if let issuer = members["issuer"].flatMap(text), !issuer.isEmpty { rules.issuer = issuer }
        if let minutes = number("minutes", members, in: Self.tokenMinutesRange) {
            rules.life = .seconds(minutes * 60)
        }
        return rules
    }

    /// Shorter ones could be guessed.
    private static let proofSecretCharactersMin = 32

    private mutating func secret(_ members: [String: Node], at place: Node) -> AppSecret? {
        let node = members["secret_env"] ?? members["secret_file"] ?? place
        let found =
            members["secret_env"].flatMap(textOfVariable)
            ?? members["secret_file"].flatMap(textOfFile)
        let secret = found?.trimmingCharacters(in: .whitespacesAndNewlines) ?? ""
        guard secret.count >= Self.proofSecretCharactersMin else {
            complain(
                node, "There is no secret to check proofs with.",
                "Name by secret_env or secret_file one of at least "
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
                node, "\(text(node) ?? "public_key_file") holds no public key of P-256.",
                "Save it as PEM: `openssl ec -in key.pem -pubout`.")
            return nil
        }
    }
}
