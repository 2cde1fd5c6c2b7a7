import HTTPTypes
import Ledger
import NIOCore
import PerennialContract

/// A request that the ``ShortWay`` may answer: written as most are, without anything to decode in
/// its path.
struct PlainRequest {
    enum Kind {
        /// What may a customer use now? Without a query or a body.
        case question(CustomerID)
        case notification
    }

    /// Of a notification: four of Apple's. A larger one goes by its route.
    static let bodyBytesMax = 65_536
    /// From the header to the end of the body; after that it is for the route.
    static let bodyTimeMax = Duration.seconds(10)

    let request: HTTPRequest
    let kind: Kind
    let began = ContinuousClock.now
    private let bodyTime: Duration
    /// What has come of it.
    private(set) var body: ByteBuffer?

    /// Nil for all other requests, and where the connection is to end with the answer.
    ///
    /// - Parameter bodyTime: in which its body is to come.
    init?(_ request: HTTPRequest, within bodyTime: Duration) {
        let headers = request.headerFields
        guard headers[.connection].map({ $0.lowercased() == "keep-alive" }) ?? true,
            headers[.transferEncoding] == nil, headers[.expect] == nil,
            let path = request.path,
            let kind = Kind(request.method, path, length: headers[.contentLength])
        else { return nil }
        self.request = request
        self.kind = kind
        self.bodyTime = bodyTime
    }

    var headers: HTTPFields { request.headerFields }
    var requestID: String { RequestFrame.requestID(asked: headers[.requestID]) }

    /// False where the body is none for here.
    mutating func add(_ bytes: ByteBuffer) -> Bool {
        guard case .notification = kind, ContinuousClock.now - began < bodyTime else {
            return false
        }
        // Most come in one part, which need not be copied. Of several none is held: each would hold
        // the whole buffer that it was read into.
        if body?.writeImmutableBuffer(bytes) == nil { body = bytes }
        return true
    }

    /// With a whole body in the place of what has come.
    func with(body: [UInt8]) -> PlainRequest {
        var plain = self
        plain.body = ByteBuffer(bytes: body)
        return plain
    }

    /// Hands over the body, which is not kept.
    mutating func takeBody() -> ByteBuffer {
        defer { body = nil }
        return body ?? ByteBuffer()
    }
}

extension PlainRequest.Kind {
    private static let customers = "/v1/customers/"

    /// - Parameter length: what the header says of the body's.
    fileprivate init?(_ method: HTTPRequest.Method, _ path: String, length: String?) {
        switch method {
        case .get:
            guard length == nil, let id = Self.customer(path) else { return nil }
            self = .question(id)
        case .post:
            guard path == Paths.notifications, let length = length.flatMap({ Int($0) }),
                length <= PlainRequest.bodyBytesMax
            else { return nil }
            self = .notification
        default: return nil
        }
    }

    private static func customer(_ path: String) -> CustomerID? {
        guard path.hasPrefix(customers) else { return nil }
        let id = path.utf8.dropFirst(customers.utf8.count)
        return id.contains(where: isSpecial) ? nil : CustomerID(rawValue: String(Substring(id)))
    }

    private static func isSpecial(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: "/") || byte == UInt8(ascii: "?") || byte == UInt8(ascii: "%")
            || byte == UInt8(ascii: "#")
    }

    /// The pattern of its path.
    var route: String {
        switch self {
        case .question: "/v1/customers/{id}"
        case .notification: Paths.notifications
        }
    }
}
