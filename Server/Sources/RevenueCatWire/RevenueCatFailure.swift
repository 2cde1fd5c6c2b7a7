import RevenueCatWebhooks

/// Why a request of version 2 of RevenueCat's REST API failed. The raw values are the words that
/// clients of this API know.
package enum RevenueCatFailure: String, Sendable, CaseIterable {
    case parameter = "parameter_error"
    case authentication = "authentication_error"
    case authorization = "authorization_error"
    case missing = "resource_missing"
    case unprocessable = "unprocessable_entity_error"
    case rateLimit = "rate_limit_error"
    case server = "server_error"

    /// The body of a response.
    ///
    /// - Parameter name: Perennial's name of the problem.
    /// - Parameter parameter: the name of the wrong parameter; nil if it is not known.
    package func value(_ message: String, name: String, parameter: String?) -> RevenueCatValue {
        .object([
            .init("object", .string("error")), .init("type", .string(rawValue)),
            .init("param", .text(parameter)), .init("message", .string(message)),
            .init("retryable", .bool(isRetryable)),
            .init("doc_url", .string("urn:perennial:problem:\(name)")),
        ])
    }

    /// Whether the same request may succeed later.
    package var isRetryable: Bool { self == .rateLimit || self == .server }
}
