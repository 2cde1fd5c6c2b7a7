/// An amount as exact decimal text, with its currency. Amounts of different currencies are never
/// added.
public struct Money: Hashable, Sendable, Codable {
    /// The amount as decimal text, such as `9.99`. The text has as many decimal places as the
    /// currency, such as none for yen and two for euros. It has up to three decimal places if the
    /// further digits are not zero.
    public var amount: String
    /// The currency code according to ISO 4217.
    public var currency: String

    public init(amount: String, currency: String) {
        self.amount = amount
        self.currency = currency
    }

    /// Creates an amount from thousandths of the currency's unit. The App Store counts in
    /// thousandths.
    public init(milliunits: Int64, currency: String) {
        let (units, fraction) = milliunits.magnitude.quotientAndRemainder(dividingBy: 1000)
        var decimals = Array(String(fraction + 1000).dropFirst())
        while decimals.count > Self.decimals(of: currency), decimals.last == "0" {
            decimals.removeLast()
        }
        let amount =
            (milliunits < 0 ? "-" : "") + String(units)
            + (decimals.isEmpty ? "" : "." + String(decimals))
        self.init(amount: amount, currency: currency)
    }

    /// The decimal places of a currency's smallest unit according to ISO 4217: two, except for a
    /// few currencies that have none or three.
    public static func decimals(of currency: String) -> Int {
        switch currency {
        case "BIF", "CLP", "DJF", "GNF", "ISK", "JPY", "KMF", "KRW", "PYG", "RWF", "UGX", "UYI",
            "VND", "VUV", "XAF", "XOF", "XPF":
            0
        case "BHD", "IQD", "JOD", "KWD", "LYD", "OMR", "TND": 3
        default: 2
        }
    }

    enum CodingKeys: String, CodingKey, CaseIterable {
        case amount
        case currency
    }
}
