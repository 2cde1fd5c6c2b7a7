import Hummingbird
import PerennialContract

/// Middleware for a server that follows a simulator's clock, which can jump. If a document was
/// signed later than the server's time, the server fetches the simulator's time and processes the
/// request once more.
struct SimulatedClockMiddleware: RouterMiddleware {
    let ask: @Sendable () async -> Void

    @concurrent func handle(
        _ request: Request, context: ServerContext,
        next: @concurrent (Request, ServerContext) async throws -> Response
    ) async throws -> Response {
        guard request.method == .post else { return try await next(request, context) }
        // The body is read into memory, because a stream can be read only once.
        let body = try await request.bytes(max: BodyLimit.purchases)
        var request = request
        request.body = RequestBody(buffer: body)
        do { return try await next(request, context) } catch let refused as ProblemError {
            guard refused.problem.code == .signingTimeInFuture else { throw refused }
            await ask()
            return try await next(request, context)
        }
    }
}
