import RevenueCatWebhooks

/// Why a request of RevenueCat's SDK failed, by the number that the SDK knows.
package enum RevenueCatError: Int, Sendable, CaseIterable {
    /// The purchase stays with another customer.
    case cannotTransfer = 7102
    /// The document is not genuine.
    case invalidReceipt = 7103
    case internalFailure = 7110
    case keyMissing = 7224
    case keyUnknown = 7225
    case badRequest = 7226
    /// The customer is not eligible for the offer.
    case ineligible = 7232
    /// The server has no key to sign offers with.
    case offerKeyMissing = 7234
    case invalidCustomerID = 7256
    case invalidWebPurchase = 7849

    /// The body of a response.
    package func value(_ message: String) -> RevenueCatValue {
        .object([.init("code", .integer(Int64(rawValue))), .init("message", .string(message))])
    }
}
