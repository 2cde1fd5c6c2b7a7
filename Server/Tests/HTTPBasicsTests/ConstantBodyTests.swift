import HTTPTypes
import Hummingbird
import NIOCore
import Testing

@testable import HTTPBasics

@Suite struct ConstantBodyTests {
    private static let body = ConstantBody(ByteBuffer(string: "hello"), mediaType: "text/plain")

    private static func request(_ known: String? = nil) -> Request {
        var headers = HTTPFields()
        headers[.ifNoneMatch] = known
        return Request(
            head: HTTPRequest(
                method: .get, scheme: nil, authority: nil, path: "/", headerFields: headers),
            body: RequestBody(buffer: ByteBuffer()))
    }

    @Test func `all responses with one body have the same strong ETag`() throws {
        let tags = try (0..<2).map { _ in
            let response = Self.body.response(to: Self.request())
            #expect(response.status == .ok)
            #expect(response.headers[.contentType] == "text/plain")
            #expect(response.headers[.cacheControl] == "private, no-cache")
            #expect(response.body.contentLength == 5)
            return try #require(response.headers[.eTag])
        }
        #expect(tags[0] == tags[1])
        // The first 16 bytes of the SHA-256 of the body.
        #expect(tags[0] == "\"2cf24dba5fb0a30e26e83b2ac5b9e29e\"")
        let other = ConstantBody(ByteBuffer(string: "hallo"), mediaType: "text/plain")
        #expect(other.response(to: Self.request()).headers[.eTag] != tags[0])
    }

    @Test func `a client that has the current body gets 304 without a body`() throws {
        let tag = try #require(Self.body.response(to: Self.request()).headers[.eTag])
        // A proxy that compresses responses makes the tag a weak one.
        for known in [tag, "W/" + tag, "\"other\", " + tag, "*"] {
            let response = Self.body.response(to: Self.request(known))
            #expect(response.status == .notModified, "\(known)")
            #expect(response.headers[.eTag] == tag)
            #expect(response.headers[.contentType] == nil)
            #expect(response.body.contentLength == 0, "\(known)")
        }
        #expect(Self.body.response(to: Self.request("\"other\"")).status == .ok)
    }

    @Test func `a response has the Cache-Control header that was set for the file`() {
        let file = ConstantBody(
            ByteBuffer(string: "a"), mediaType: "text/css", cacheControl: "public, immutable")
        let response = file.response(to: Self.request())
        #expect(response.headers[.cacheControl] == "public, immutable")
    }
}
