/// A request to RevenueCat's REST API, version 2, independent of the transport. A request never
/// changes anything, so the method is always GET.
package struct RevenueCatRequest: Hashable, Sendable {
    /// The path with its query, percent-encoded: `/v2/projects/…`.
    package var path: String
    /// The header `Authorization`, `Bearer …`. Never logged.
    package var authorization: String

    package init(path: String, authorization: String) {
        self.path = path
        self.authorization = authorization
    }
}

/// RevenueCat's response, not yet parsed.
package struct RevenueCatResponse: Hashable, Sendable {
    /// The maximum size of a response in bytes. A page of a hundred subscriptions has about 200,000
    /// bytes.
    package static let bodyBytesMax = 4_194_304

    package var status: Int
    /// The value of the header `Retry-After`.
    package var retryAfter: String?
    package var body: [UInt8]

    package init(status: Int, retryAfter: String? = nil, body: [UInt8] = []) {
        self.status = status
        self.retryAfter = retryAfter
        self.body = body
    }
}
