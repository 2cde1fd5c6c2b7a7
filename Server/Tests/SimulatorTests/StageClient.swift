import AppStoreFormats
import Hummingbird
import HummingbirdTesting
import Testing

@testable import Simulator

/// Calls the routes of a stage's simulator.
struct StageClient: Sendable {
    let client: any TestClientProtocol

    func text(_ path: String, _ body: String? = nil) async throws -> (Int, String) {
        let buffer = body.map { ByteBuffer(string: $0) }
        let method: HTTPRequest.Method = body == nil ? .get : .post
        return try await client.execute(uri: path, method: method, body: buffer) { response in
            (response.status.code, String(buffer: response.body))
        }
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
