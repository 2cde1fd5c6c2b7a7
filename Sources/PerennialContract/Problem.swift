/// Why a request failed, in the form of RFC 9457 (`application/problem+json`), with a remedy.
public struct Problem: Error, Hashable, Sendable, Codable {
    /// The code as a URI.
    public var type: String
    /// What happened, in one sentence.
    public var title: String
    /// The HTTP status.
    public var status: Int
    /// Details of what was found. Nil if no details would help the client.
    public var detail: String?
    /// The code, for programs. A code never changes its meaning.
    public var code: ProblemCode
    /// What the client or the operator can do.
    public var remedy: String
    /// The id of the request in the server's logs.
    public var requestID: String?
    /// The result for each document of a posting that was refused. Nil for other problems.
    public var outcomes: [DocumentOutcome]?
    /// The customer after a posting that left a purchase with another customer. Nevertheless, the
    /// server has recorded the facts that the documents contain. Nil for other problems.
    public var customer: Customer?
    /// The server's time when it answered. Nil in responses of earlier versions.
    public var serverTime: Timestamp?
    /// The name of the server's limit that was reached, as the server's configuration calls it. Nil
    /// for other problems.
    public var limit: String?

    public init(
        code: ProblemCode, status: Int, title: String, detail: String? = nil, remedy: String,
        requestID: String? = nil, serverTime: Timestamp? = nil
    ) {
        type = "urn:perennial:problem:\(code.rawValue)"
        self.title = title
        self.status = status
        self.detail = detail
        self.code = code
        self.remedy = remedy
        self.requestID = requestID
        self.serverTime = serverTime
    }

    /// The media type of problems in HTTP responses.
    public static let mediaType = "application/problem+json"

    enum CodingKeys: String, CodingKey, CaseIterable {
        case type
        case title
        case status
        case detail
        case code
        case remedy
        case requestID = "request_id"
        case outcomes
        case customer
        case serverTime = "server_time"
        case limit
    }

    // Written manually, because RFC 9457 has no null: nil members are left out.
    public func encode(to encoder: any Encoder) throws {
        var members = encoder.container(keyedBy: CodingKeys.self)
        try members.encode(type, forKey: .type)
        try members.encode(title, forKey: .title)
        try members.encode(status, forKey: .status)
        if let detail { try members.encode(detail, forKey: .detail) }
        try members.encode(code, forKey: .code)
        try members.encode(remedy, forKey: .remedy)
        if let requestID { try members.encode(requestID, forKey: .requestID) }
        if let outcomes { try members.encode(outcomes, forKey: .outcomes) }
        if let customer { try members.encode(customer, forKey: .customer) }
        if let serverTime { try members.encode(serverTime, forKey: .serverTime) }
        if let limit { try members.encode(limit, forKey: .limit) }
    }
}
