/// The place where a transaction was bought, according to the app that posted the transaction.
/// These values are not signed, so they have no effect on access or ownership.
package struct PurchaseOrigin: Hashable, Sendable {
    /// The place in the app where the product was offered.
    package var placement: String?
    /// The library that posted the purchase, with its version, such as `perennial-swift/0.1.0`.
    package var sdk: String?
    /// The country of the store account: three letters, as in ISO 3166-1.
    package var storefront: String?

    /// The maximum length of each text, in Unicode scalars. The rest is cut off.
    package static let lengthMax = 100

    /// Creates an origin without control characters. A text that is then empty becomes nil.
    package init(placement: String? = nil, sdk: String? = nil, storefront: String? = nil) {
        self.placement = Self.printable(placement)
        self.sdk = Self.printable(sdk)
        self.storefront = Self.printable(storefront)
    }

    package var isEmpty: Bool { placement == nil && sdk == nil && storefront == nil }

    private static func printable(_ text: String?) -> String? {
        guard let text else { return nil }
        var printable = ""
        for scalar in text.unicodeScalars.prefix(lengthMax)
        where scalar.properties.generalCategory != .control {
            printable.unicodeScalars.append(scalar)
        }
        return printable.isEmpty ? nil : printable
    }
}
