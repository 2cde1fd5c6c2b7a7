/// A country's App Store.
package struct Storefront: Hashable, Sendable {
    /// The country's code in ISO 3166-1 alpha-3.
    package let country: String
    /// Apple's id of the storefront.
    package let id: String
    /// The currency's code in ISO 4217.
    package let currency: String

    package static let unitedStates = Self(country: "USA", id: "143441", currency: "USD")

    /// All storefronts, by country.
    package static let all = read(table)

    package static func named(_ country: String) -> Self? { byCountry[country] }

    private static let byCountry = Dictionary(
        all.map { ($0.country, $0) }, uniquingKeysWith: { first, _ in first })

    /// Parses the table. A word of three letters is the currency of the countries that follow it.
    private static func read(_ table: String) -> [Self] {
        var currency = ""
        var storefronts: [Self] = []
        for word in table.split(whereSeparator: \.isWhitespace) {
            if word.count == 3 {
                currency = String(word)
            } else {
                storefronts.append(
                    Self(
                        country: String(word.prefix(3)), id: "143" + word.dropFirst(3),
                        currency: currency))
            }
        }
        return storefronts.sorted { $0.country < $1.country }
    }
}
