import HTTPBasics
import NIOCore
import Synchronization

/// The body of `/openapi.json`. The body is encoded once for all addresses and all configurations
/// of a server, because the routes do not depend on them.
final class ServedDescription: Sendable {
    private let body = Mutex<ConstantBody?>(nil)

    /// The body. Idempotent.
    ///
    /// - Parameter document: encodes the description. Not called again after it has succeeded once.
    func body(of document: () throws -> ByteBuffer) throws -> ConstantBody {
        try body.withLock { body in
            if let body { return body }
            let encoded = ConstantBody(try document(), mediaType: "application/json")
            body = encoded
            return encoded
        }
    }
}

extension PerennialServer {
    /// Encodes the description of the API, which later requests share. Without this call, the first
    /// request encodes the description. Idempotent.
    ///
    /// - Throws: ``ContractProbe/Failure`` if a contract type cannot be described.
    @discardableResult
    package func encodeDescription() throws -> ConstantBody {
        try description.body {
            let document = try OpenAPI.document(of: routes.map(\.operation))
            return try JSONResponse.json(document, isIndented: true)
        }
    }
}
