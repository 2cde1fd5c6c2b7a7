import Engine
import Hummingbird
import NIOCore
import Synchronization

/// A JSON body that is the same in every response. It is encoded once, when it is first needed,
/// because encoding it takes thousands of times as long as sending it.
final class ConstantBody: Sendable {
    private struct Encoded {
        var json: ByteBuffer
        var tag: EntityTag
    }

    private let encoded = Mutex<Encoded?>(nil)

    /// The response with this body, or 304 if the client already has it.
    ///
    /// - Parameter encode: encodes the body. Called only for the first response, unless it throws.
    func response(
        to request: Request, _ encode: () throws -> ByteBuffer
    ) throws -> Response {
        let body = try encoded.withLock { encoded in
            if let encoded { return encoded }
            let json = try encode()
            let tag = EntityTag(ContentTag.text(of: Array(json.readableBytesView)))
            let body = Encoded(json: json, tag: tag)
            encoded = body
            return body
        }
        return body.tag.respond(to: request) {
            JSONResponse.text(body.json, mediaType: "application/json")
        }
    }
}
