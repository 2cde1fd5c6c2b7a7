import AppStoreFormats
import AsyncHTTPClient
import Eventually
import Foundation
import NIOCore

/// An HTTP client of one side of a story. The client sends and receives JSON.
struct Wire: Sendable {
    let base: String
    var bearer: String?
    /// How long to wait for a response, in seconds. The simulator may play years during a request.
    var patience = 300.0

    /// A client that stops waiting soon, so that the caller can use another server.
    var impatient: Wire {
        var wire = self
        wire.patience = 1
        return wire
    }

    /// The maximum size of a response, in bytes. A response with two thousand notifications has
    /// about thirty million.
    static let answerBytesMax = 134_217_728

    /// Fails immediately if no program listens. By default, the library would retry.
    private static let client: HTTPClient = {
        var configuration = HTTPClient.Configuration()
        configuration.connectionPool.retryConnectionEstablishment = false
        configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = 256
        return HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
    }()

    struct Answer: Sendable {
        var status: Int
        var body: [UInt8]
        var retryAfter: String?
        var revenueCatTag: String?
        var etag: String?

        var json: JSON {
            get throws { try JSON(parsing: body) }
        }
    }

    struct Unexpected: Error, CustomStringConvertible {
        var description: String
    }

    func send(
        _ method: String, _ path: String, body: [UInt8]? = nil, headers: [String: String] = [:]
    ) async throws -> Answer {
        var request = HTTPClientRequest(url: base + path)
        request.method = .init(rawValue: method)
        for (name, value) in headers { request.headers.add(name: name, value: value) }
        if let bearer, headers["Authorization"] == nil {
            request.headers.add(name: "Authorization", value: "Bearer \(bearer)")
        }
        if let body { request.body = .bytes(ByteBuffer(bytes: body)) }
        do {
            let response = try await Self.client.execute(
                request, timeout: .milliseconds(Int64(patience * 1_000)))
            let bytes = try await response.body.collect(upTo: Self.answerBytesMax)
            return Answer(
                status: Int(response.status.code), body: Array(bytes.readableBytesView),
                retryAfter: response.headers.first(name: "Retry-After"),
                revenueCatTag: response.headers.first(name: "X-RevenueCat-ETag"),
                etag: response.headers.first(name: "ETag"))
        } catch let error as HTTPClientError where error == .deadlineExceeded {
            throw NeverCame("the answer to \(method) \(base)\(path)", within: patience)
        }
    }

    /// Returns the JSON of a successful response. Throws any other response with its body.
    @discardableResult
    func post(_ path: String, _ body: JSON = [:]) async throws -> JSON {
        try success(try await send("POST", path, body: body.bytes), "POST \(path)")
    }

    func get(_ path: String) async throws -> JSON {
        try success(try await send("GET", path), "GET \(path)")
    }

    private func success(_ answer: Answer, _ what: String) throws -> JSON {
        guard answer.status == 200 else {
            let text = String(decoding: answer.body.prefix(2000), as: UTF8.self)
            throw Unexpected(description: "\(what) answered \(answer.status): \(text)")
        }
        return try answer.json
    }
}

extension JSON {
    func text(_ key: String) throws -> String {
        guard let text = self[key]?.string else {
            throw Wire.Unexpected(description: "no text \(key) in \(self.text.prefix(2000))")
        }
        return text
    }
}
