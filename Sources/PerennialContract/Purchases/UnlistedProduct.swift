/// A product that was bought and that the server's configuration does not list. It gives no access
/// until it is added. After that, earlier purchases also count.
public struct UnlistedProduct: Hashable, Sendable, Codable {
    public var productID: String
    /// The line to add under `products` of the app in the configuration, such as `guide: [pro]`,
    /// with an entitlement of the app as an example.
    public var line: String
    /// What to do, in one sentence that contains the line.
    public var remedy: String

    public init(productID: String, line: String, remedy: String) {
        self.productID = productID
        self.line = line
        self.remedy = remedy
    }

    enum CodingKeys: String, CodingKey, CaseIterable {
        case productID = "product_id"
        case line
        case remedy
    }
}
