import AppStoreFormats
import AsyncHTTPClient
import Eventually
import Foundation
import NIOCore

/// A client of one side of a story, over HTTP, in JSON.
struct Wire: Sendable {
    let base: String
    var bearer: String?
    /// How long to wait for a response, in seconds. A request may play years.
    var patience = 300.0

    /// A client that gives up soon if nobody responds, and can then use another server.
    var impatient: Wire {
        var wire = self
        wire.patience = 1
        return wire
    }

    /// The maximum size of a response, in bytes. Two thousand notifications have some thirty
    /// million.
    static let answerBytesMax = 134_217_728

    /// Fails at once if nobody listens; the library would otherwise retry.
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
                etag: response.headers.first(name: "ETag"))
        } catch let error as HTTPClientError where error == .deadlineExceeded {
            throw NeverCame("the answer to \(method) \(base)\(path)", within: patience)
        }
    }

    /// The JSON of a successful response; any other response is thrown with its body.
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
