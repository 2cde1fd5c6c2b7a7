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
        let fraction = thousandths % 1000
        var places = String(repeating: "0", count: fraction < 10 ? 2 : fraction < 100 ? 1 : 0)
        places += String(fraction)
        if places.hasSuffix("0") { places.removeLast() }
        let sign = milliunits < 0 ? "-" : ""
        self.init(amount: "\(sign)\(thousandths / 1000).\(places)", currency: currency)
    }

    enum CodingKeys: String, CodingKey, CaseIterable {
        case amount
        case currency
    }
}
