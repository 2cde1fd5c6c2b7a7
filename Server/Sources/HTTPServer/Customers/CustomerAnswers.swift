import Engine
import Hummingbird
import Ledger
import NIOCore
import PerennialContract
import Storage

/// Makes the responses about a customer that several routes send.
struct CustomerAnswers: RouteGroup {
    let server: PerennialServer

    /// Responds with a customer's current state and their token.
    func respond(_ state: CustomerState, to holder: StoredKey) async throws -> Response {
        try JSONResponse.ok(try await customer(in: state, for: holder))
    }

    /// A customer's current state, with their token.
    func customer(in state: CustomerState, for holder: StoredKey) async throws -> Customer {
        var customer = Customer(state, showsAllIDs: holder.kind == .secret)
        customer.token = try await engine.tokens.issue(for: state, app: holder.app)
        return customer
    }

    /// Responds with a value about the customer in the path, for the environment in the query.
    func respond<Answer: Encodable>(
        _ request: Request, _ context: ServerContext,
        _ body: (CustomerID, Ledger.Environment) async throws -> Answer
    ) async throws -> Response {
        let id = try RequestReader.customerID(in: context)
        let environment = try RequestReader.environment(in: request)
        return try JSONResponse.ok(try await body(id, environment))
    }
}
