import Engine
import Hummingbird
import Ledger
import NIOCore
import PerennialContract

/// The routes that replace Apple's verifyReceipt.
struct VerifyReceiptRoutes: RouteGroup {
    let server: PerennialServer

    /// The routes. Empty if no app accepts receipts.
    var all: [Route] {
        guard engine.context.acceptsLegacy else { return [] }
        return [
            server.verbatim(
                Self.verifyReceiptOperation(
                    Paths.verifyReceipt, "verifyReceipt", "Like Apple's verifyReceipt"),
                verifyReceipt),
            server.verbatim(
                Self.verifyReceiptOperation(
                    Paths.sandboxVerifyReceipt, "sandboxVerifyReceipt",
                    "A replacement for verifyReceipt of the sandbox"), sandboxVerifyReceipt),
        ].map { $0.withoutLimit() }
    }

    private static func verifyReceiptOperation(
        _ path: String, _ id: String, _ summary: String
    ) -> OpenAPIOperation {
        OpenAPIOperation(
            .post, path, id, summary,
            description: """
                For users of Apple's deprecated verifyReceipt. Responds 200 in any case, with the \
                error in `status`, as Apple does; 5xx only for problems of this server.
                """, input: VerifyReceiptBody.self, output: .receiptStatus)
    }

    /// Replaces Apple's verifyReceipt. Apple has a host name for each environment; this server has
    /// a path for each.
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

    /// The answer that Apple gives if it cannot respond.
    private static var unavailable: Response {
        JSONResponse.text(
            ByteBuffer(bytes: LegacyService.verifyReceiptUnavailable),
            mediaType: "application/json")
    }

    private func verifyReceipt(
        _ request: Request, _ context: ServerContext, at environment: Ledger.Environment
    ) async throws -> Response {
        do { try server.authorization.countAddress(of: request, context) } catch {
            // The client only understands the status in a body.
            return Self.unavailable
        }
        context.bodyShare?.use(.receipts)
        let body: ByteBuffer
        do { body = try await request.bytes(max: BodyLimit.verifyReceipt) } catch let refused
            as ProblemError where refused.problem.code == .bodyTooLarge
        {
            return Self.unavailable
        }
        do {
            let answer = try await engine.legacy.verifyReceipt(
                Array(body.readableBytesView), at: environment)
            return JSONResponse.text(ByteBuffer(bytes: answer), mediaType: "application/json")
        } catch {
            throw ProblemError(error, subject: .purchases)
        }
    }
}
