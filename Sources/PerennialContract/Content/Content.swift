/// The response of `GET /v1/customers/{id}/content`: everything published so far, newest first.
public struct ContentList: Hashable, Sendable, Codable {
    public var items: [Content]

    public init(items: [Content]) { self.items = items }
}

/// One item that is published once, such as an issue, and whether a customer may read it.
public struct Content: Hashable, Sendable, Codable {
    public var contentID: String
    public var title: String
    public var publishedAt: Timestamp
    public var readable: Bool
    /// Why the customer may or may not read the content, in one sentence.
    public var reason: String
    /// Products that each give access to this content.
    public var productIDs: [String]
    /// The path on this server from which the content's file can be loaded until ``urlUntil``,
    /// without a key. Nil if the customer may not read the content, if the content has no file, or
    /// if the request is for the sandbox, which opens no files.
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
