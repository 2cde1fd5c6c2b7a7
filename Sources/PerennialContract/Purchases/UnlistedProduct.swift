/// A product that was bought but that the server's configuration does not list. The product gives
/// no access until the configuration lists it. From then on, earlier purchases of the product give
/// access, too.
public struct UnlistedProduct: Hashable, Sendable, Codable {
    public var productID: String
    /// The line to add under `products` of the app in the configuration, such as `guide: [pro]`.
    /// The entitlement in the line is an example from the app.
    public var line: String
    /// How to list the product, in one sentence that contains ``line``.
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
