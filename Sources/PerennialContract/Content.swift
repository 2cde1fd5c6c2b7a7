/// What `GET /v1/customers/{id}/content` answers: what has come out, the newest first.
public struct ContentList: Hashable, Sendable, Codable {
    public var items: [Content]

    public init(items: [Content]) { self.items = items }
}

/// One issue, or another thing that is published once, and whether a customer may read it.
public struct Content: Hashable, Sendable, Codable {
    public var contentID: String
    public var title: String
    public var publishedAt: Timestamp
    public var readable: Bool
    /// Why, or why not, in one sentence.
    public var reason: String
    /// Products that open it by themselves.
    public var productIDs: [String]
    /// Where its file is, without a key, until ``urlUntil``: a path of this server. Nil where it
    /// may not be read, has no file, or the sandbox opens no files.
    public var url: String?
    public var urlUntil: Timestamp?

    public init(
        contentID: String, title: String, publishedAt: Timestamp, readable: Bool, reason: String,
        productIDs: [String], url: String? = nil, urlUntil: Timestamp? = nil
    ) {
        self.contentID = contentID
        self.title = title
        self.publishedAt = publishedAt
        self.readable = readable
        self.reason = reason
        self.productIDs = productIDs
        self.url = url
        self.urlUntil = urlUntil
    }

    enum CodingKeys: String, CodingKey, CaseIterable {
        case contentID = "content_id"
        case title
        case publishedAt = "published_at"
        case readable
        case reason
        case productIDs = "product_ids"
        case url
        case urlUntil = "url_until"
    }
}
