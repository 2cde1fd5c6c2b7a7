import Hummingbird
import NIOCore
import PerennialContract

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Converts contract values to response bytes.
enum JSONResponse {
    static func json(_ value: some Encodable, isIndented: Bool = false) throws -> ByteBuffer {
        var buffer = ByteBuffer(bytes: try ContractEncoder(isIndented: isIndented).encode(value))
        // The line end makes the next output in a terminal begin on a new line.
        buffer.writeString("\n")
        return buffer
    }

    static func ok(_ value: some Encodable) throws -> Response {
        text(try json(value), mediaType: "application/json")
    }

    /// The response to a POST that has created something.
    static func created(_ value: some Encodable) throws -> Response {
        var response = try ok(value)
        response.status = .created
        return response
    }

    static func text(_ buffer: ByteBuffer, mediaType: String) -> Response {
        Response(
            status: .ok, headers: [.contentType: mediaType],
            body: ResponseBody(byteBuffer: buffer))
    }
}
