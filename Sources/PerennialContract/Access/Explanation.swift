/// The response of `GET /v1/customers/{id}/explain`: what the customer may use, why, and on which
/// documents that is based.
public struct Explanation: Hashable, Sendable, Codable {
    public var customerID: String
    public var environment: StoreEnvironment
    /// Text for people, in monospaced type. The form of the text may change, so programs read other
    /// routes.
    public var lines: [String]
    public var serverTime: Timestamp

    public init(
        customerID: String, environment: StoreEnvironment, lines: [String], serverTime: Timestamp
    ) {
        self.customerID = customerID
        self.environment = environment
        self.lines = lines
        self.serverTime = serverTime
    }

    enum CodingKeys: String, CodingKey, CaseIterable {
        case customerID = "customer_id"
        case environment
        case lines
        case serverTime = "server_time"
    }
}
