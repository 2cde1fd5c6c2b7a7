/// The customers found by `GET /v1/customers?query=`.
public struct CustomerList: Hashable, Sendable, Codable {
    public var items: [Found]

    public init(items: [Found]) { self.items = items }

    /// One customer or purchase that was found.
    public struct Found: Hashable, Sendable, Codable {
        /// Nil if the purchase that was found belongs to no customer.
        public var customerID: String?
        public var aliases: [String]
        /// What matched: `id`, `transaction_id`, `order_id`.
        public var by: String
        public var purchaseID: String?

        public init(customerID: String?, aliases: [String], by: String, purchaseID: String?) {
            self.customerID = customerID
            self.aliases = aliases
            self.by = by
            self.purchaseID = purchaseID
        }

        enum CodingKeys: String, CodingKey, CaseIterable {
            case customerID = "customer_id"
            case aliases
            case by
            case purchaseID = "purchase_id"
        }
    }
}
