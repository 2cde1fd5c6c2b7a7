import Engine
import HTTPBasics
import Hummingbird
import Logging

/// The HTTP API of an engine: decodes a request, calls one engine function, encodes the response.
package struct PerennialServer: Sendable {
    /// The number of seconds after which a connection without a request or a response is closed.
    package static let idleSeconds: Int64 = 60
    /// The maximum number of open connections. Further connections wait until others close.
    package static let connectionsMax = 4096
    /// The maximum size of all header fields of one request together, in bytes.
    package static let headerBytesMax = 32_768

    /// The version of the program, of this server, and of its HTTP API.
    package static let version = "0.1.0"

    package private(set) var engine: Engine
    /// The number of the configuration, from 0: see ``CustomerWait/configuration``.
    private(set) var configuration = 0
    /// The part of the server that is available at its address.
    var listener = Listener.only
    /// Adds routes that are not part of the HTTP API, such as the pages of `perennial dev`.
    package var additions: (@Sendable (Router<ServerContext>) -> Void)?
    /// The names by which a server for development may be reached; nil for any other server.
    package var localNames: LocalNames?
    /// Who may see the dashboard; nil if the server has no dashboard.
    package var dashboard: DashboardAccess?
    /// Reads configurations that are not in force; nil if the server has no configuration file.
    package var readsConfiguration: ProposedConfiguration.Reading?
    /// Returns the state of the backups; nil if this server makes none.
    package var readsBackups: (@Sendable () -> BackupState)?
    /// Whether this server sends alerts.
    package var sendsAlerts = false
    /// Reads the values that metrics report about the certificate and the disk.
    package var readings: @Sendable () -> ProcessReadings = { ProcessReadings() }
    /// The state of the background work of this process, which its workers record.
    package let workers = WorkerStates()
    let keys: KeyCache
    let counts = RequestCounts()
    let bodies: BodyBudget
    let waits: CustomerWait
    let connections: ConnectionCounts
    let meter: RequestMeter
    let refusals: LimitRefusals
    let description = ServedDescription()
    let previews = PreviewPlace()
    let streamLimits: EventStreamLimits
    let streams: StreamPlaces
    /// The streams of pages, which do not count as streams of the HTTP API.
    let pageStreams: StreamPlaces
    let logger: Logger
    let startedAt = ContinuousClock.now
    let logLinesDropped: @Sendable () -> Int
    private let refreshClock: (@Sendable () async -> Void)?

    /// Makes a server.
    ///
    /// - Parameter bodyLimits: the maximum number of body bytes in memory at one time.
    /// - Parameter logLinesDropped: returns how many lines the log has dropped since the start.
    /// - Parameter refreshClock: updates the engine's clock, if it follows another clock.
    /// - Parameter refusedKeys: keys that are rejected even if the database has them.
    /// - Parameter waitLimits: the limits of requests that wait for a change.
    /// - Parameter connectionLimits: the limits of connections from one address.
    /// - Parameter streamLimits: the limits of event streams.
    /// - Parameter requestLimits: the limits of requests of one address, and with one key.
    package init(
        engine: Engine, logger: Logger, bodyLimits: BodyBudgetLimits = BodyBudgetLimits(),
        logLinesDropped: @escaping @Sendable () -> Int = { 0 },
        refreshClock: (@Sendable () async -> Void)? = nil, refusedKeys: Set<String> = [],
        waitLimits: WaitLimits = WaitLimits(),
        connectionLimits: ConnectionLimits = ConnectionLimits(),
        streamLimits: EventStreamLimits = EventStreamLimits(),
        requestLimits: RequestLimits = RequestLimits()
    ) {
        keys = KeyCache(refused: refusedKeys)
        self.engine = engine
        self.logger = logger
        self.logLinesDropped = logLinesDropped
        self.refreshClock = refreshClock
        bodies = BodyBudget(bodyLimits)
        refusals = LimitRefusals(logger)
        waits = CustomerWait(waitLimits, refusals)
        connections = ConnectionCounts(connectionLimits, refusals)
        meter = RequestMeter(requestLimits, refusals)
        self.streamLimits = streamLimits
        streams = StreamPlaces(max: streamLimits.streamsMax)
        pageStreams = StreamPlaces(max: streamLimits.streamsMax)
    }

    var requestMiddleware: RequestMiddleware {
        RequestMiddleware(
            counts: counts, bodies: bodies, logger: logger,
            now: { [engine] in engine.context.serverTime }, traces: engine.context.traces)
    }

    /// The routes, with the middleware around each request: request id, problems, metrics, one log
    /// line.
    package func router() -> Router<ServerContext> {
        let router = Router(context: ServerContext.self, options: .autoGenerateHeadEndpoints)
        router.add(middleware: requestMiddleware)
        if let refreshClock { router.add(middleware: SimulatedClockMiddleware(ask: refreshClock)) }
        let routes = routes + routesOfRevenueCat
        for route in routes { add(route, to: router) }
        for (path, methods) in Dictionary(grouping: routes, by: \.path).mapValues({
            $0.map(\.method)
        }) {
            refuseOtherMethods(than: methods, at: path, of: router)
        }
        if let dashboard, listener.servesDashboard {
            DashboardRoutes.add(of: self, for: dashboard, to: router)
        }
        additions?(router)
        return router
    }

    /// The routes as a service that listens until it is shut down. On shutdown, the service
    /// finishes the requests in progress.
    ///
    /// - Parameter onListening: called with the port, which is useful if `port` is 0.
    package func application(
        host: String, port: Int, onListening: @escaping @Sendable (Int) async -> Void = { _ in }
    ) -> some ApplicationProtocol {
        LiveServer(self).application(.only, host: host, port: port, onListening: onListening)
    }

    /// Returns the server with another engine. The new server shares the counters, the limits, and
    /// the waiting requests with this one.
    ///
    /// - Parameter refusedKeys: keys that are rejected even if the database has them.
    func replacing(_ engine: Engine, refusedKeys: Set<String>) -> PerennialServer {
        keys.replace(refused: refusedKeys)
        var server = self
        server.configuration = waits.releaseAll()
        server.engine = engine
        return server
    }

    /// Reads which keys exist, so that a request with an existing key is not counted as a request
    /// without a key. Call this before the server listens, before another engine comes into force,
    /// and regularly, because other processes create keys.
    package func learnKeys(of engine: Engine) async throws { try await keys.learn(from: engine) }

    /// Stores when keys were used, at most once an hour for each key. Requests only note the use in
    /// memory, so this function must be called regularly.
    package func recordKeyUses() async throws { try await engine.keys.record(keys.drainUses()) }

    private func add(_ route: Route, to router: Router<ServerContext>) {
        let answer = handler(of: route)
        router.on(RouterPath(route.path), method: route.method) { request, context in
            context.coreContext.endpointPath.value = route.path
            if route.operation.isLimited {
                try authorization.countAddress(of: request, context)
            }
            let response = try await answer(request, context)
            guard route.operation.isIndentable, request.asksForIndentation else { return response }
            return try await response.indented()
        }
    }

    private func refuseOtherMethods(
        than allowed: [HTTPRequest.Method], at path: String, of router: Router<ServerContext>
    ) {
        var others = [.get, .post, .put, .patch, .delete, .options, HTTPRequest.Method.other]
        // A path that responds to GET also responds to HEAD.
        if !allowed.contains(.get) { others.append(.head) }
        for method in others where !allowed.contains(method) {
            router.on(RouterPath(path), method: method) { _, context -> Response in
                context.coreContext.endpointPath.value = path
                throw ProblemError(.methodNotAllowed(method, allowed: allowed))
            }
        }
    }
}
