import Engine
import Hummingbird
import Ledger
import PerennialContract

extension PerennialServer {
    var tokenRoutes: [Route] {
        [
            open(
                OpenAPIOperation(
                    .get, Paths.publishedKeys, "publishedKeys",
                    "The keys for verifying customers' tokens (RFC 7517)",
                    description: """
                        Fetch them again if a token names another key. A program that trusts an \
                        old key follows the chain to the new one.
                        """,
                    output: .json(TokenKeySet.self)), publishedKeys)
        ]
    }

    /// Responds with a customer's current state and their token.
    func respond(_ state: CustomerState, to holder: StoredKey) async throws -> Response {
        try JSONResponse.ok(try await customer(in: state, for: holder))
    }

    /// A customer's current state, with their token.
    func customer(in state: CustomerState, for holder: StoredKey) async throws -> Customer {
        var customer = Customer(state, showsAllIDs: holder.kind == .secret)
        customer.token = try await engine.token(for: state, app: holder.app)
        return customer
    }

    /// Publishes the keys for verifying tokens (RFC 7517). Clients fetch them again if a token
    /// names another key.
    @Sendable func publishedKeys(
        _ request: Request, _ context: ServerContext
    ) async throws -> Response {
        do {
            let published = try await engine.publishedKeySet()
            return try JSONResponse.ok(
                TokenKeySet(
                    keys: published.keys.map { TokenKeySet.Key($0) }, chain: published.chain))
        } catch let failure as EngineFailure { throw ProblemError(failure, subject: .customer) }
    }
}

extension TokenKeySet.Key {
    fileprivate init(_ key: PublishedKey) { self.init(id: key.id, x: key.x, y: key.y) }
}
