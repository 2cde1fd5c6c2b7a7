import Engine
import Ledger

extension AppSettings {
    /// Everything that decides what customers have, as text lines. The difference of two settings
    /// is the difference of their lines. Secrets are not included, only that there is one.
    var lines: [String] {
        var lines = ["bundle_id \(bundleID)"]
        if let appAppleID { lines.append("app_apple_id \(appAppleID)") }
        if isSimulated { lines.append("simulated") }
        if sharedSecret != nil { lines.append("a shared secret") }
        if !acceptsLegacy { lines.append("no evidence from before StoreKit 2") }
        for (entitlement, products) in entitlements {
            lines += products.map { "product \($0) gives \(entitlement)" }
        }
        lines.append("unconfirmed_hold_hours \(rules.unconfirmedHold.components.seconds / 3600)")
        lines += termLines + walletLines + contentLines
        lines += forwards.targets.map { target in
            // The query may contain a secret.
            "forward to \(target.name)" + (target.url == target.name ? "" : " (with a query)")
        }
        if !forwards.targets.isEmpty { lines.append("forward_policy \(forwards.policy.rawValue)") }
        lines += restorePolicies.map { environment, policy in
            let most = policy == .share ? ", at most \(shareRules(in: environment).most)" : ""
            return "restore in \(environment.rawValue): \(policy.rawValue)\(most)"
        }
        lines += [proofLine, tokenLine]
        if accountTokens == .other { lines.append("account tokens name no customers") }
        if consumption.policy != .never {
            lines.append(
                "consumption sent \(consumption.policy.rawValue), sample \(consumption.hasSample), "
                    + "refund preference \(consumption.preference?.rawValue ?? "none")")
        }
        return lines.sorted()
    }

    private var proofLine: String {
        switch proof {
        case nil: "identity without proof"
        case .hmac(_, let endless)?: "identity by hmac" + (endless ? ", also without an end" : "")
        case .token(_, let claims)?: "identity by jwt with a secret" + Self.words(claims)
        case .signedToken(_, let claims)?: "identity by jwt with a public key" + Self.words(claims)
        }
    }

    private static func words(_ claims: IdentityProof.Claims) -> String {
        (claims.audience.map { ", for \($0)" } ?? "") + (claims.issuer.map { ", by \($0)" } ?? "")
    }

    private var tokenLine: String {
        guard let tokens else { return "no tokens" }
        return "tokens by \(tokens.issuer), for \(tokens.life.components.seconds / 60) minutes"
    }

    private var termLines: [String] {
        guard !terms.products.isEmpty else { return [] }
        return terms.products.map { product, term in
            "term of \(product): \(term.length.months) months and \(term.length.days) days, "
                + "chain \(term.chain)"
                + (term.reminders.isEmpty ? "" : ", reminders \(term.reminders) days ahead")
        } + ["terms by the clock of \(terms.clock.name), \(terms.overlap.rawValue)"]
    }

    private var walletLines: [String] {
        let credits = wallets.credits.flatMap { product, credits in
            credits.map { "product \(product) credits \($1) \($0)" }
        }
        return credits
            + wallets.allCurrencies.map { name in
                let currency = wallets.currency(name)
                return "wallet \(name): refunds \(currency.refunds.rawValue), "
                    + (currency.allowsDebt ? "debt allowed" : "no debt")
            }
    }

    private var contentLines: [String] {
        guard !content.items.isEmpty else { return [] }
        let items = content.items.map { item in
            let publication = item.publication
            let opens =
                (publication.entitlement.map { [$0.rawValue] } ?? [])
                + publication.products.map(\.rawValue).sorted()
            let file = item.file.map { ", in \($0)" } ?? ""
            return "content \(publication.id) on \(publication.publishedAt.minute) for "
                + opens.joined(separator: ", ") + file
        }
        return items + placeLines + [
            "content \(content.rules.staysAfterLapse ? "stays" : "closes") after a lapse",
            "content of earlier dates is \(content.rules.opensEarlier ? "open" : "closed")",
            "content files are \(content.opensSandbox ? "open" : "closed") for the sandbox",
            "content links are valid for \(content.linkLifetime.components.seconds / 60) minutes",
        ]
    }

    private var placeLines: [String] {
        switch content.place {
        case nil: []
        case .folder(let path)?: ["content is in \(path)"]
        case .elsewhere(let url, let secret)?:
            [
                "content is at \(DatabaseAddress.withoutPassword(url)), with "
                    + (secret == nil ? "plain links" : "signed links")
            ]
        }
    }
}
