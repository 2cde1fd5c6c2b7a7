import PerennialContract

/// How pages write numbers.
package enum Figures {
    /// A minus sign, not a hyphen.
    static let minus = "\u{2212}"
    private static let space = "\u{A0}"

    /// A count: `12,408`. A negative count has a true minus sign.
    package static func count(_ number: some BinaryInteger) -> String {
        let digits = grouped(String(number.magnitude))
        return number < 0 ? minus + digits : digits
    }

    /// A change: `+ 87` or `− 87`; `0` has no sign.
    package static func change(_ number: some BinaryInteger) -> String {
        number == 0
            ? "0" : "\(number < 0 ? minus : "+")\(space)\(grouped(String(number.magnitude)))"
    }

    /// A count with its noun: `1 event`, `2 events`.
    package static func count(_ number: Int, _ one: String, _ many: String? = nil) -> String {
        "\(count(number)) \(number == 1 ? one : many ?? one + "s")"
    }

    /// An amount: `$9.99`, `−$9.99`, `¥4,500`, `CHF 4.00`. The amount is rounded to the currency's
    /// smallest unit, and halves are rounded away from zero. An amount other than zero is never
    /// written as zero.
    package static func money(_ money: Money) -> String {
        let amount = Amount(money)
        return (amount.isNegative ? minus : "") + amount.text
    }

    /// An amount with a sign: `+ $9.99`, `− $9.99`; zero has no sign.
    package static func signedMoney(_ money: Money) -> String {
        let amount = Amount(money)
        if amount.isZero { return amount.text }
        return (amount.isNegative ? minus : "+") + space + amount.text
    }

    /// An amount without cents: `$16,288`. For large amounts only. The cents are cut off, never
    /// rounded up.
    package static func roughMoney(_ money: Money) -> String {
        let amount = Amount(money)
        return (amount.isNegative ? minus : "") + amount.symbol + grouped(amount.units)
    }

    /// `37.8 %` for 378 thousandths.
    package static func percent(thousandths: Int) -> String {
        let (whole, tenth) = abs(thousandths).quotientAndRemainder(dividingBy: 10)
        return (thousandths < 0 ? minus : "") + "\(whole).\(tenth)\(space)%"
    }

    static func grouped(_ digits: some StringProtocol) -> String {
        var text = ""
        for (index, digit) in digits.enumerated() {
            if index > 0, (digits.count - index) % 3 == 0 { text.append(",") }
            text.append(digit)
        }
        return text
    }
}

/// An amount of money, split into its parts.
private struct Amount {
    /// The length of a currency code. Longer texts are invalid, and are cut.
    private static let currencyLettersMax = 8
    /// Currencies whose symbol is unambiguous.
    private static let symbols = [
        "USD": "$", "EUR": "€", "GBP": "£", "JPY": "¥", "CAD": "CA$", "AUD": "A$", "INR": "₹",
        "KRW": "₩", "BRL": "R$", "MXN": "MX$", "NZD": "NZ$", "ILS": "₪", "VND": "₫", "TRY": "₺",
    ]

    let isNegative: Bool
    let symbol: String
    let units: Substring
    let fraction: Substring

    init(_ money: Money) {
        let text = money.milliunits.map { Self.rounded($0, money.currency) } ?? money.amount
        isNegative = text.hasPrefix("-")
        let parts = text.drop { $0 == "-" }.split(separator: ".", maxSplits: 1)
        units = parts.first ?? "0"
        fraction = parts.count > 1 ? parts[1] : ""
        symbol =
            Self.symbols[money.currency]
            ?? money.currency.prefix(Self.currencyLettersMax) + "\u{A0}"
    }

    private static func rounded(_ milliunits: Int64, _ currency: String) -> String {
        let steps: [UInt64] = [1000, 100, 10, 1]
        let step = steps[min(Money.decimals(of: currency), steps.count - 1)]
        let rest = milliunits.magnitude % step
        let change = rest * 2 >= step ? Int64(step - rest) : -Int64(rest)
        let (sum, isTooLarge) = milliunits.addingReportingOverflow(
            milliunits < 0 ? -change : change)
        let isNothing = sum == 0 && milliunits != 0
        return Money(
            milliunits: isTooLarge || isNothing ? milliunits : sum, currency: currency
        ).amount
    }

    var isZero: Bool { (units + fraction).allSatisfy { $0 == "0" } }

    var text: String {
        symbol + Figures.grouped(units) + (fraction.isEmpty ? "" : "." + fraction)
    }
}

extension Money {
    /// The amount in thousandths of the currency's unit. Nil if the text is not such an amount.
    var milliunits: Int64? {
        let parts = amount.drop { $0 == "-" }.split(
            separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
        let decimals = parts.count > 1 ? parts[1] : ""
        let isNumber = (parts + [decimals]).allSatisfy {
            $0.utf8.allSatisfy { (48...57).contains($0) }
        }
        guard let units = parts.first, !units.isEmpty, decimals.count <= 3, isNumber else {
            return nil
        }
        let digits = units + decimals + String(repeating: "0", count: 3 - decimals.count)
        return Int64((amount.hasPrefix("-") ? "-" : "") + digits)
    }
}
