import Engine
import Hummingbird
import Ledger
import PerennialContract

extension PerennialServer {
    /// The maximum number of lines on a page of a history.
    static let historyLinesMax = 1_000
    static let historyLinesDefault = 200

    var historyRoutes: [Route] {
        [
            secret(
                OpenAPIOperation(
                    .get, "/v1/customers/{id}/history", "history",
                    "Everything known about the customer, oldest first",
                    parameters: [
                        .environment, .after,
                        .limit(usual: Self.historyLinesDefault, most: Self.historyLinesMax),
                    ], output: .json(History.self)), history)
        ]
    }

    @Sendable func history(
        _ request: Request, _ context: ServerContext, _ holder: KeyHolder
    ) async throws -> Response {
        let id = try Self.customerID(in: context)
        let environment = try Self.environment(in: request)
        let limit = try Self.limit(
            in: request, usual: Self.historyLinesDefault, most: Self.historyLinesMax)
        let position = try Self.listPosition(in: request)
        let lines = try await engine.history(
            of: id, app: holder.app, environment: environment)
        let rest = lines.rest(after: position)
        let page = rest.prefix(limit)
        let last = page.count < rest.count ? page.last : nil
        return try JSONResponse.ok(
            History(
                items: page.map(History.Line.init),
                nextCursor: last?.position.text))
    }
}

extension History.Line {
    fileprivate init(_ line: HistoryLine) {
        self.init(
            at: Timestamp(line.at), kind: line.kind.rawValue, sentence: line.sentence,
            purchaseID: line.purchase?.description, documentID: line.document?.rawValue,
            reference: line.reference)
    }
}
