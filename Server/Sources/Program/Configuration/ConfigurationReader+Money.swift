import Engine
import Ledger
import Reports
import Yams

/// Parses the settings of reports about money.
extension ConfigurationReader {
    static let moneyKeys: [Key<MoneySettings>] = [
        Key("time_zone", \.rules.clock) { $0.clock($1) },
        Key("small_business") { $2.rules.smallBusiness = $0.memberships($1) },
        Key("taxes") { $2.rules.taxes = $0.taxes($1) },
        Key("app_sku", \.appSKU) { $0.nonEmptyText($1) },
        Key("rates_file") { reader, node, money in
            if let rates = reader.rates(node) { money.rates = rates }
        },
        // This key is read after the table of rates, which must contain the currency.
        Key("display_currency") { reader, node, money in
            money.displayCurrency = reader.displayCurrency(node, money.rates)
        },
    ]
    private static let membershipsMax = 50
    private static let taxPercentRange = 0.0...100.0

    /// Parses `[{from: 2021-01-01, until: 2023-06-01}, {from: 2024-01-01}]`, or a single date.
    private mutating func memberships(_ node: Node) -> [MoneyRules.Membership] {
        let nodes = node.sequence.map { Array($0) } ?? [node]
        guard nodes.count <= Self.membershipsMax else {
            complain(
                node, "small_business has too many entries.",
                "Use at most \(Self.membershipsMax).")
            return []
        }
        return nodes.compactMap { membership($0) }
    }

    private mutating func membership(_ node: Node) -> MoneyRules.Membership? {
        if node.scalar != nil { return day(node).map { MoneyRules.Membership(from: $0) } }
        let members = members(of: node, known: ["from", "until"], in: "small_business")
        guard let from = members["from"].flatMap({ day($0) }) else {
            complain(
                node, "An entry of small_business has no from.", "Write `{from: 2026-01-01}`.")
            return nil
        }
        let until = members["until"].flatMap { day($0) }
        if let until, until <= from {
            complain(
                node, "An entry of small_business ends before it begins.",
                "Set until to a date after from.")
            return nil
        }
        return MoneyRules.Membership(from: from, until: until)
    }

    /// Parses a day in UTC: Apple has not published the time zone of the dates of its Small
    /// Business Program.
    private mutating func day(_ node: Node) -> Instant? {
        guard let date = text(node).flatMap({ CivilDate($0) }) else {
            complain(node, "“\(text(node) ?? "?")” is not a date.", "Write a date like 2026-01-01.")
            return nil
        }
        return WallClock.utc.midnight(ofDay: date.dayNumber)
    }

    /// Parses `{DEU: 19, FRA: 20}`: percent of the price without tax.
    private mutating func taxes(_ node: Node) -> [String: Int64] {
        guard let mapping = node.mapping else {
            complain(node, "taxes must be a mapping.", "Write `taxes: {DEU: 19}`.")
            return [:]
        }
        var taxes: [String: Int64] = [:]
        for (key, value) in mapping {
            let country = text(key) ?? ""
            guard country.utf8.count == 3, country.utf8.allSatisfy({ (65...90).contains($0) })
            else {
                complain(
                    key, "“\(country)” is not a storefront.",
                    "Use the three letters of ISO 3166-1, such as DEU.")
                continue
            }
            guard let percent = text(value).flatMap(Double.init),
                Self.taxPercentRange.contains(percent)
            else {
                complain(value, "The tax of \(country) is not a percentage.", "Use 0 to 100.")
                continue
            }
            taxes[country] = Percentage.thousandths(ofPercent: percent)
        }
        return taxes
    }

    private mutating func displayCurrency(_ node: Node, _ rates: ExchangeRates) -> String? {
        let text = text(node) ?? ""
        guard text.utf8.count == 3, text.utf8.allSatisfy({ (65...90).contains($0) }) else {
            complain(
                node, "“\(text)” is not a currency.",
                "Write the three letters of ISO 4217, such as EUR.")
            return nil
        }
        guard rates.isEmpty || rates.currencies.contains(text) else {
            complain(
                node, "rates_file has no rate of \(text), the display_currency.",
                "Choose a currency of the table, or add its rates.")
            return nil
        }
        return text
    }

    private mutating func rates(_ node: Node) -> ExchangeRates? {
        guard let table = textOfFile(node), table.utf8.count <= ExchangeRates.tableBytesMax else {
            complain(
                node, "rates_file cannot be read.",
                "Name a file in UTF-8 of at most \(ExchangeRates.tableBytesMax) bytes.")
            return nil
        }
        do { return try ExchangeRates(table: table) } catch {
            let column = error.column.map { ", column \($0)" } ?? ""
            complain(
                node, "rates_file, line \(error.line)\(column): \(error.sentence)",
                "Use the form of the European Central Bank: docs/money.md shows it.")
            return nil
        }
    }
}

extension AppSettings {
    var moneyLines: [String] {
        var money = money
        // The lengths are left out here, because they are listed with the products of the
        // `.storekit` file.
        money.rules.lengths = [:]
        money.vendorNumber = nil
        guard money != MoneySettings() else { return [] }
        let rules = money.rules
        let memberships = rules.smallBusiness.map { membership in
            "small business from \(membership.from)"
                + (membership.until.map { " until \($0)" } ?? "")
        }
        let taxes = rules.taxes.sorted { $0.key < $1.key }.map { country, rate in
            "tax of \(country) \(Percentage.percent(rate)) %"
        }
        return ["money by days in the time zone \(rules.clock.name)"] + memberships + taxes
            + (money.rates.isEmpty ? [] : ["exchange rates"])
            + (money.displayCurrency.map { ["pages show amounts in \($0)"] } ?? [])
    }
}
