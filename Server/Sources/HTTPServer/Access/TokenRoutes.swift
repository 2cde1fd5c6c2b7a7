import Engine
import Hummingbird
import Ledger
import PerennialContract

/// The route that publishes the keys for verifying customers' tokens.
struct TokenRoutes: RouteGroup {
    let server: PerennialServer

    var all: [Route] {
        [
            server.open(
                OpenAPIOperation(
                    .get, Paths.publishedKeys, "publishedKeys",
                    "The keys for verifying customers' tokens (RFC 7517)",
                    description: """
                        Fetch the keys again if a token names another one. A program that trusts \
                        an old key follows the chain to the new one.
                        """,
                    output: .json(TokenKeySet.self)), publishedKeys)
        ]
    }

    /// Publishes the keys for verifying tokens (RFC 7517). Clients fetch them again if a token
    /// names a key that they do not have.
    @Sendable func publishedKeys(
        _ request: Request, _ context: ServerContext
    ) async throws -> Response {
        do {
            let published = try await engine.tokens.publishedKeySet()
            return try JSONResponse.ok(
                TokenKeySet(
                    keys: published.keys.map { TokenKeySet.Key($0) }, chain: published.chain))
        } catch let failure as EngineFailure { throw ProblemError(failure, subject: .customer) }
    }
}

extension TokenKeySet.Key {
    fileprivate init(_ key: PublishedKey) { self.init(id: key.id, x: key.x, y: key.y) }
}
