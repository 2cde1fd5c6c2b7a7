import Engine
import Ledger
import Yams

/// Parses the amounts that consumables credit to wallets, and the rules for debits after refunds.
extension ConfigurationReader {
    static let walletKeys: [Key<WalletRules.Currency>] = [
        Key("refunds", \.refunds) { $0.word($1, "not a refund rule") },
        Key("allows_debt", \.allowsDebt) { $0.bool($1) },
        Key("spend", \.spender) { $0.word($1, "not a valid value of spend") },
        Key("max_offline", \.offlineMax) { $0.offlineMax($1) },
    ]
    static let creditMax: Int64 = 1_000_000_000

    /// Parses `{gems: 100}`.
    mutating func credits(_ node: Node) -> [CurrencyID: Int64] {
        guard let mapping = node.mapping else {
            complain(node, "credits must be a mapping.", "Write `credits: {gems: 100}`.")
            return [:]
        }
        var credits: [CurrencyID: Int64] = [:]
        for (key, value) in mapping {
            guard let name = text(key), let amount = number(value) else { continue }
            guard (1...Self.creditMax).contains(amount) else {
                complain(value, "\(amount) is not a valid credit.", "Use 1 to \(Self.creditMax).")
                continue
            }
            credits[CurrencyID(rawValue: name)] = amount
        }
        return credits
    }

    /// Reads the rules of the wallets that products credit.
    mutating func read(wallets node: Node, into wallets: inout WalletRules) {
        let known = wallets.allCurrencies.map(\.rawValue).sorted()
        for (name, value) in members(of: node, known: known, in: "wallets") {
            var currency = WalletRules.Currency()
            let found = read(value, Self.walletKeys, into: &currency, in: "a wallet")
            check(currency, name, found)
            wallets.currencies[CurrencyID(rawValue: name)] = currency
        }
    }
}

extension ConfigurationReader {
    /// Returns an amount that an app may spend without the server.
    private mutating func offlineMax(_ node: Node) -> Int64? {
        guard let amount = number(node) else { return nil }
        if (1...Self.creditMax).contains(amount) { return amount }
        complain(node, "max_offline is out of range.", "Use 1 to \(Self.creditMax).")
        return nil
    }

    /// Checks those keys of a wallet that depend on each other.
    private mutating func check(
        _ currency: WalletRules.Currency, _ name: String, _ found: [String: Node]
    ) {
        if currency.spender == .server, let most = found["max_offline"] {
            complain(
                most, "Wallet \(name) has max_offline, but apps may not debit the wallet.",
                "Add `spend: app`, or leave out max_offline.")
        }
        if currency.spender == .app, currency.allowsDebt {
            complain(
                found["spend"], "Apps could spend \(name) without any limit.",
                "Leave out `spend: app` or `allows_debt: true`.")
        }
    }
}

extension AppSettings {
    var walletLines: [String] {
        wallets.allCurrencies.map { name in
            let currency = wallets.currency(name)
            return "wallet \(name): refunds \(currency.refunds.rawValue), "
                + (currency.allowsDebt ? "debt allowed" : "no debt")
                + Self.spending(currency)
        }
    }

    private static func spending(_ currency: WalletRules.Currency) -> String {
        guard currency.spender == .app else { return "" }
        return ", spent by apps" + (currency.offlineMax.map { ", at most \($0) offline" } ?? "")
    }
}
