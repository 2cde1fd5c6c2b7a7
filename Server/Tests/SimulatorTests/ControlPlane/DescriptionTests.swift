import AppStoreFormats
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import Testing

@testable import Simulator

/// The description that the simulator serves.
@Suite struct DescriptionTests {
    private static func answer(
        _ query: String = "", known: String? = nil
    ) async throws -> TestResponse {
        var headers = HTTPFields()
        headers[.ifNoneMatch] = known
        let app = Application(router: try Stage().simulator.router())
        return try await app.test(.router) { [headers] client in
            try await client.execute(
                uri: "/_sim/openapi.json\(query)", method: .get, headers: headers)
        }
    }

    @Test
    func `the OpenAPI description never changes, and a request with its ETag gets 304`()
        async throws
    {
        let first = try await Self.answer()
        #expect(first.body == (try await Self.answer()).body)
        #expect(String(buffer: first.body) == OpenAPI.document.text + "\n")
        let tag = try require(first.headers[.eTag], "no tag")
        #expect(tag.hasPrefix("\""))
        let again = try await Self.answer(known: tag)
        #expect(again.status == .notModified)
        #expect(again.body.readableBytes == 0)
    }

    @Test func `the description can be indented, and one member of the description can be read`()
        async throws
    {
        let version = try await Self.answer("?only=openapi")
        #expect(String(buffer: version.body) == "3.1.0")
        let indented = try await Self.answer("?pretty")
        #expect(String(buffer: indented.body).hasPrefix("{\n"))
        #expect(try JSON(parsing: indented.body.readableBytesView) == OpenAPI.document)
    }
}
