import Engine
import Hummingbird
import Ledger
import NIOCore

extension PerennialServer {
    /// Replaces Apple's verifyReceipt. Apple uses two host names for the environments; this server
    /// uses two paths.
    @Sendable func verifyReceipt(
        _ request: Request, _ context: ServerContext
    ) async throws -> Response {
        try await verifyReceipt(request, context, at: .production)
    }

    @Sendable func sandboxVerifyReceipt(
        _ request: Request, _ context: ServerContext
    ) async throws -> Response {
        try await verifyReceipt(request, context, at: .sandbox)
    }

    private func verifyReceipt(
        _ request: Request, _ context: ServerContext, at environment: Ledger.Environment
    ) async throws -> Response {
        context.bodyShare?.use(.receipts)
        let body = try await request.bytes(max: Engine.verifyReceiptBytesMax)
        do {
            let answer = try await engine.verifyReceipt(
                Array(body.readableBytesView), at: environment)
            return JSONResponse.text(ByteBuffer(bytes: answer), mediaType: "application/json")
        } catch {
            throw ProblemError(error, subject: .purchases)
        }
    }
}
