import Hummingbird
import HummingbirdCore
import Logging
import NIOCore
import NIOHTTPTypes
import Synchronization

/// A connection of the framework, on which a request passes by the ``ShortWay`` before it goes on
/// to the routes.
struct ServerChannel: ServerChildChannel {
    let http: HTTP1Channel
    let server: PerennialServer
    private let cohorts = Cohorts()

    init(_ http: HTTP1Channel, to server: PerennialServer) {
        self.http = http
        self.server = server
    }

    func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<HTTP1Channel.Value> {
        http.setup(channel: channel, logger: logger).flatMapThrowing { value in
            let pipeline = channel.pipeline.syncOperations
            // Behind what closes idle connections, which so knows of all requests.
            let state = try pipeline.handler(type: HTTPConnectionStateHandler.self)
            let cohort = cohorts.cohort(on: channel.eventLoop, of: server)
            try pipeline.addHandler(ShortWay(with: cohort), position: .after(state))
            return value
        }
    }

    func handle(value: HTTP1Channel.Value, logger: Logger) async {
        await http.handle(value: value, logger: logger)
    }
}

/// One for each event loop, whose connections share it.
private final class Cohorts: Sendable {
    private let all = Mutex<[ObjectIdentifier: NIOLoopBound<Cohort>]>([:])

    func cohort(on loop: any EventLoop, of server: PerennialServer) -> Cohort {
        all.withLock { all in
            let name = ObjectIdentifier(loop)
            let cohort = all[name] ?? NIOLoopBound(Cohort(of: server, on: loop), eventLoop: loop)
            all[name] = cohort
            return cohort
        }.value
    }
}
