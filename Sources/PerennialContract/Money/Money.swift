/// An amount as exact decimal text, with its currency. Amounts of different currencies are never
/// added.
public struct Money: Hashable, Sendable, Codable {
    /// For example `9.99`. Has at least two decimal places, and a third only if it is not zero.
    public var amount: String
    /// The currency code according to ISO 4217.
    public var currency: String

    public init(amount: String, currency: String) {
        self.amount = amount
        self.currency = currency
    }

    /// Makes an amount from thousandths of the currency's unit, which is how the App Store counts.
    public init(milliunits: Int64, currency: String) {
        let thousandths = milliunits.magnitude
        let (units, fraction) = thousandths.quotientAndRemainder(dividingBy: 1000)
        let (hundredths, last) = fraction.quotientAndRemainder(dividingBy: 10)
        var amount = milliunits < 0 ? "-" : ""
        amount += String(units)
        amount += hundredths < 10 ? ".0" : "."
        amount += String(hundredths)
        if last > 0 { amount += String(last) }
        self.init(amount: amount, currency: currency)
    }

    enum CodingKeys: String, CodingKey, CaseIterable {
        case amount
        case currency
    }
}
