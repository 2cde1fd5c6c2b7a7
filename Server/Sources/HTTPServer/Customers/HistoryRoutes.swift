import Engine
import Hummingbird
import Ledger
import PerennialContract
import Storage

/// The route that lists everything known about a customer.
struct HistoryRoutes: RouteGroup {
    let server: PerennialServer

    var all: [Route] {
        [
            server.secret(
                for: .read,
                OpenAPIOperation(
                    .get, "/v1/customers/{id}/history", "history",
                    "Everything known about the customer, oldest first",
                    parameters: [
                        .environment, .after,
                        .limit(
                            usual: CustomerService.historyLinesDefault,
                            most: CustomerService.historyLinesMax),
                    ], output: .json(History.self)), history)
        ]
    }

    @Sendable func history(
        _ request: Request, _ context: ServerContext, _ holder: StoredKey
    ) async throws -> Response {
        let id = try RequestReader.customerID(in: context)
        let environment = try RequestReader.environment(in: request)
        let limit = try RequestReader.limit(
            in: request, usual: CustomerService.historyLinesDefault,
            most: CustomerService.historyLinesMax)
        let page = try await engine.customers.historyPage(
            of: id, app: holder.app, environment: environment,
            after: try RequestReader.listPosition(in: request), limit: limit)
        return try JSONResponse.ok(
            History(items: page.lines.map(History.Line.init), nextCursor: page.next?.text))
    }
}

extension History.Line {
    init(_ line: HistoryLine) {
        self.init(
            at: Timestamp(line.at), kind: line.kind.rawValue, sentence: line.sentence,
            purchaseID: line.purchase?.description, documentID: line.document?.rawValue,
            reference: line.reference)
    }
}
