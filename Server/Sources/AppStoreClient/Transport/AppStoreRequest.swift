import AppStoreFormats

/// A request to the App Store, independent of the transport.
package struct AppStoreRequest: Sendable {
    package var method: String
    /// The path, relative to the environment's address: `/inApps/v1/…`. The path has only
    /// characters that need no encoding in a path.
    package var path: String
    /// The query parameters in the order of sending, not yet percent-encoded.
    package var query: [(String, String)]
    /// The header `Authorization`, `Bearer …`; nil for verifyReceipt, whose secret is in the body.
    /// Never logged.
    package var authorization: String?
    /// The body, as JSON; nil for a request without a body.
    package var body: [UInt8]?
    /// The environment to which the request is sent.
    package var environment: StoreEnvironment
    /// The media type of the response.
    package var accept = "application/json"

    package init(
        method: String, path: String, query: [(String, String)], authorization: String?,
        body: [UInt8]?, environment: StoreEnvironment
    ) {
        self.method = method
        self.path = path
        self.query = query
        self.authorization = authorization
        self.body = body
        self.environment = environment
    }
}

/// The App Store's response, not yet parsed.
package struct AppStoreResponse: Hashable, Sendable {
    /// The maximum size of a response in bytes. The largest response is usually a page of twenty
    /// notifications, with 300,000 bytes.
    package static let bodyBytesMax = 8_388_608

    package var status: Int
    /// The value of the `Retry-After` header.
    package var retryAfter: String?
    /// When the response was written, by the App Store's clock, truncated to seconds. Nil if there
    /// is no `Date` header.
    package var date: AppStoreDate?
    package var body: [UInt8]

    package init(
        status: Int, retryAfter: String? = nil, date: AppStoreDate? = nil, body: [UInt8] = []
    ) {
        self.status = status
        self.retryAfter = retryAfter
        self.date = date
        self.body = body
    }
}
