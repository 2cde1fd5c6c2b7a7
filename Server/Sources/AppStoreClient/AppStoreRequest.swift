import AppStoreFormats

/// A request to the App Store, whoever carries it.
package struct AppStoreRequest: Sendable {
    package var method: String
    /// Below the store's address: `/inApps/v1/…`. Only characters that a path holds as they are.
    package var path: String
    /// In the order that is sent; not yet percent-encoded.
    package var query: [(String, String)]
    /// `Bearer …`; nil for verifyReceipt, whose secret is in the body. Never logged.
    package var authorization: String?
    /// JSON; nil for a request without a body.
    package var body: [UInt8]?
    /// Which of the two stores it is for.
    package var environment: StoreEnvironment

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

/// What the store answered, unread.
package struct AppStoreResponse: Hashable, Sendable {
    /// Bytes of an answer. Twenty notifications, the longest that is usual, have 300 000.
    package static let bodyBytesMax = 8_388_608

    package var status: Int
    /// The header of that name.
    package var retryAfter: String?
    /// When it was written, by the store's clock, cut to seconds; nil where it does not say.
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
