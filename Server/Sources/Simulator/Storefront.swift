/// A country's App Store.
package struct Storefront: Hashable, Sendable {
    /// ISO 3166-1 alpha-3.
    package let country: String
    /// Apple's number for it.
    package let id: String
    /// ISO 4217.
    package let currency: String

    package static let unitedStates = Self(country: "USA", id: "143441", currency: "USD")

    // A price of the shop keeps its number in every storefront: a shop file has one price for each
    // product.
    package static let all = [
        unitedStates,
        Self(country: "AUS", id: "143460", currency: "AUD"),
        Self(country: "CAN", id: "143455", currency: "CAD"),
        Self(country: "CHE", id: "143459", currency: "CHF"),
        Self(country: "DEU", id: "143443", currency: "EUR"),
        Self(country: "FRA", id: "143442", currency: "EUR"),
        Self(country: "GBR", id: "143444", currency: "GBP"),
        Self(country: "JPN", id: "143462", currency: "JPY"),
    ]

    package static func named(_ country: String) -> Self? { all.first { $0.country == country } }
}
