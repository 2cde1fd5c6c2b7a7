import Engine
import Ledger
import Yams

/// Parses what consumables credit to wallets, and what refunds debit.
extension ConfigurationReader {
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

    mutating func wallets(of products: [Product], _ node: Node?) -> WalletRules {
        var rules = WalletRules.none
        for product in products where !product.credits.isEmpty {
            rules.credits[ProductID(rawValue: product.id)] = product.credits
        }
        guard let node else { return rules }
        let known = rules.allCurrencies.map(\.rawValue).sorted()
        for (name, value) in members(of: node, known: known, in: "wallets") {
            rules.currencies[CurrencyID(rawValue: name)] = currency(value)
        }
        return rules
    }

    private mutating func currency(_ node: Node) -> WalletRules.Currency {
        var currency = WalletRules.Currency()
        let members = members(of: node, known: ["refunds", "allows_debt"], in: "a wallet")
        if let debt = members["allows_debt"].flatMap({ bool($0) }) { currency.allowsDebt = debt }
        if let refunds = members["refunds"],
            let known = word(refunds, WalletRules.Refunds.self, "not a refund rule")
        {
            currency.refunds = known
        }
        return currency
    }
}
