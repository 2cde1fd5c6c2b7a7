import Engine
import Hummingbird
import Ledger
import PerennialContract

extension PerennialServer {
    var historyRoutes: [Route] {
        [
            secret(
                for: .read,
                OpenAPIOperation(
                    .get, "/v1/customers/{id}/history", "history",
                    "Everything known about the customer, oldest first",
                    parameters: [
                        .environment, .after,
                        .limit(usual: Engine.historyLinesDefault, most: Engine.historyLinesMax),
                    ], output: .json(History.self)), history)
        ]
    }

    @Sendable func history(
        _ request: Request, _ context: ServerContext, _ holder: StoredKey
    ) async throws -> Response {
        let id = try Self.customerID(in: context)
        let environment = try Self.environment(in: request)
        let limit = try Self.limit(
            in: request, usual: Engine.historyLinesDefault, most: Engine.historyLinesMax)
        let page = try await engine.historyPage(
            of: id, app: holder.app, environment: environment,
            after: try Self.listPosition(in: request), limit: limit)
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
