import AppStoreFormats
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import Testing

@testable import Simulator

/// Calls the routes of a stage's simulator, and checks every response against the simulator's own
/// description.
struct StageClient: Sendable {
    let client: any TestClientProtocol

    /// - Parameter lastEventID: the id after which a stream continues.
    func text(
        _ path: String, _ body: String? = nil, lastEventID: String? = nil
    ) async throws -> (Int, String) {
        var headers = HTTPFields()
        if let lastEventID, let name = HTTPField.Name("Last-Event-ID") {
            headers[name] = lastEventID
        }
        let buffer = body.map { ByteBuffer(string: $0) }
        let method: HTTPRequest.Method = body == nil ? .get : .post
        let (status, text) = try await client.execute(
            uri: path, method: method, headers: headers, body: buffer
        ) {
            ($0.status.code, String(buffer: $0.body))
        }
        let differences = try DescribedAnswers.shared.differences(
            method, path, status: status, text)
        #expect(differences == [], "\(method) \(path)")
        return (status, text)
    }

    func json(_ path: String, _ body: String? = nil, status: Int = 200) async throws -> JSON {
        let (code, text) = try await text(path, body)
        #expect(code == status, "\(path): \(text)")
        return try JSON(parsing: text.utf8)
    }
}

extension Stage {
    func withClient(_ test: @escaping @Sendable (StageClient) async throws -> Void) async throws {
        let app = Application(router: simulator.router())
        try await app.test(.router) { try await test(StageClient(client: $0)) }
    }
}
