import RevenueCatWebhooks

/// Why a request of RevenueCat's SDK failed. The raw value is the number that the SDK knows.
package enum RevenueCatError: Int, Sendable, CaseIterable {
    /// The call is about a store that this server does not serve.
    case invalidPlatform = 7000
    /// The App Store does not respond.
    case storeProblem = 7101
    /// The purchase stays with another customer.
    case cannotTransfer = 7102
    /// The document is not genuine.
    case invalidReceipt = 7103
    case internalFailure = 7110
    case keyMissing = 7224
    case keyUnknown = 7225
    case badRequest = 7226
    /// The request has a secret key, but requires the public key of an app.
    case keyIsSecret = 7243
    /// The customer is not eligible for the offer.
    case ineligible = 7232
    /// The server has no key to sign offers with.
    case offerKeyMissing = 7234
    case invalidCustomerID = 7256
    /// The customer has no such subscription.
    case unknownSubscription = 7259
    case invalidAttributes = 7263
    case invalidWebPurchase = 7849
    /// The token that names the customer is missing, or cannot be used.
    case invalidToken = 7981

    /// The body of a response.
    ///
    /// - Parameter attributes: the reason why each refused attribute is refused, by the attribute's
    ///   name.
    package func value(
        _ message: String, attributes: [(name: String, why: String)] = []
    ) -> RevenueCatValue {
        let errors = attributes.map { name, why in
            RevenueCatValue.object([
                .init("key_name", .string(name)), .init("message", .string(why)),
            ])
        }
        return .object(
            [.init("code", .integer(Int64(rawValue))), .init("message", .string(message))]
                + (errors.isEmpty ? [] : [.init("attribute_errors", .list(errors))]))
    }
}
