import Engine
import Hummingbird
import Ledger
import PerennialContract
import Storage

/// The route that reports the kind of the key that was sent, and the app of the key.
struct PingRoutes: RouteGroup {
    let server: PerennialServer

    var all: [Route] {
        [
            server.keyed(
                for: .read,
                OpenAPIOperation(
                    .get, Paths.ping, "ping", "What the key is, and which app it belongs to",
                    description: "For diagnosis. Reads nothing about a customer.",
                    output: .json(Ping.self)), ping)
        ]
    }

    @Sendable func ping(
        _ request: Request, _ context: ServerContext, _ holder: StoredKey
    ) async throws -> Response {
        let app = try engine.context.overview(of: holder.app)
        let unlisted = try await engine.recording.unlistedSales(of: holder.app).map(\.product)
        return try JSONResponse.ok(
            Ping(
                keyKind: holder.kind.rawValue, app: app.id.rawValue, bundleID: app.bundleID,
                simulated: app.isSimulated,
                environments: Ledger.Environment.allCases.map { StoreEnvironment($0) },
                unknownProductIDs: app.unknownProducts?.map(\.rawValue),
                unlistedProducts: Set(unlisted).sorted { $0.product < $1.product }
                    .map { UnlistedProduct($0) },
                serverVersion: PerennialServer.version,
                serverTime: Timestamp(engine.context.serverTime)))
    }
}
