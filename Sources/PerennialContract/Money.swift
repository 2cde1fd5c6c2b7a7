/// An amount as exact decimal text, with its currency. Amounts of different currencies are never
/// added.
public struct Money: Hashable, Sendable, Codable {
    /// Such as `9.99`: at least two places after the point, more only where they are not zero.
    public var amount: String
    /// ISO 4217.
    public var currency: String

    public init(amount: String, currency: String) {
        self.amount = amount
        self.currency = currency
    }

    /// From thousandths of the currency's unit, as the store counts.
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
