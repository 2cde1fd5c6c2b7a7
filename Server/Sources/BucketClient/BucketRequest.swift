import OutgoingHTTP

/// A request to the server of a bucket, independent of the transport.
package struct BucketRequest: Hashable, Sendable {
    package var method: String
    /// Scheme, host and port.
    package var base: String
    /// The path. It has only characters that need no encoding.
    package var path: String
    /// The query, percent-encoded and sorted as a signature needs it; empty if there is none.
    package var query: String
    /// The headers, with names in small letters. `authorization` is among them: never logged.
    package var headers: [String: String]
    package var body: [UInt8]

    /// The complete address.
    package var url: String { base + path + (query.isEmpty ? "" : "?\(query)") }

    init(
        _ method: String, base: String, path: String, query: [String: String] = [:],
        headers: [String: String] = [:], body: [UInt8] = []
    ) {
        self.method = method
        self.base = base
        self.path = path
        self.query = Self.text(of: query)
        self.headers = headers
        self.body = body
    }

    /// Sorted by the encoded names.
    private static func text(of query: [String: String]) -> String {
        PercentEncoder.query(
            query.sorted { PercentEncoder.text($0.key) < PercentEncoder.text($1.key) }
                .map { ($0.key, $0.value) })
    }
}

/// The answer of the server, not yet parsed.
package struct BucketResponse: Hashable, Sendable {
    /// The maximum size of a body in bytes. The largest is a part of a download.
    package static let bodyBytesMax = 33_554_432

    package var status: Int
    /// The headers, with names in small letters.
    package var headers: [String: String]
    package var body: [UInt8]

    package init(status: Int, headers: [String: String] = [:], body: [UInt8] = []) {
        self.status = status
        self.headers = headers
        self.body = body
    }
}
