import Crypto
import Hummingbird
import NIOCore

/// A body that never changes while the program runs. The body's bytes and its tag are made once,
/// and every response shares them.
package struct ConstantBody: Sendable {
    /// The number of bytes of the SHA-256 that the tag contains.
    private static let tagBytes = 16

    private let bytes: ByteBuffer
    private let tag: EntityTag
    private let mediaType: String
    private let cacheControl: String

    /// - Parameter cacheControl: the header `Cache-Control`. By default, a cache must ask the
    ///   server each time.
    package init(
        _ bytes: ByteBuffer, mediaType: String, cacheControl: String = EntityTag.askEachTime
    ) {
        let digest = SHA256.hash(data: bytes.readableBytesView).prefix(Self.tagBytes)
        let digits = digest.map { byte in
            let text = String(byte, radix: 16)
            return text.count == 1 ? "0" + text : text
        }
        tag = EntityTag(digits.joined(), isStrong: true)
        self.bytes = bytes
        self.mediaType = mediaType
        self.cacheControl = cacheControl
    }

    /// The response with this body, or 304 without a body if the client already has it.
    package func response(to request: Request) -> Response {
        tag.respond(to: request, cacheControl: cacheControl) {
            Response(
                status: .ok, headers: [.contentType: mediaType],
                body: ResponseBody(byteBuffer: bytes))
        }
    }
}
