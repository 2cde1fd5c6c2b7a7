import Engine
import Hummingbird
import HummingbirdCore
import NIOCore
import Synchronization

/// A server that listens, and whose engine can be replaced. The engine that was in force when a
/// request began answers the whole request.
package final class LiveServer: Sendable {
    typealias Responder = RouterResponder<ServerContext>

    private struct InForce: Sendable {
        var server: PerennialServer
        var responders: [Listener: Responder]
    }

    private let inForce: Mutex<InForce>
    /// Yields after each replacement of the engine. Only one task may read this stream.
    package let replacements: AsyncStream<Void>
    private let replacementSink: AsyncStream<Void>.Continuation

    /// - Parameter listeners: what each address of the server serves.
    package init(_ server: PerennialServer, listeners: Set<Listener> = [.only]) {
        inForce = Mutex(
            InForce(server: server, responders: Self.responders(of: server, for: listeners)))
        (replacements, replacementSink) = AsyncStream.makeStream(
            bufferingPolicy: .bufferingNewest(1))
    }

    /// The server in force, with its engine. Read this once for each request or job, so that one
    /// configuration applies throughout.
    package var current: PerennialServer { inForce.withLock { $0.server } }

    /// Answers requests with another engine from now on, beginning with the next request.
    ///
    /// - Parameter refusedKeys: keys that are rejected even if the database contains them.
    package func replace(_ engine: Engine, refusedKeys: Set<String> = []) {
        inForce.withLock { inForce in
            let server = inForce.server.replacing(engine, refusedKeys: refusedKeys)
            inForce.responders = Self.responders(of: server, for: Set(inForce.responders.keys))
            inForce.server = server
        }
        replacementSink.yield()
    }

    /// One address as a service that listens until it is shut down. On shutdown, the service
    /// finishes the requests in progress.
    ///
    /// - Parameter listener: one of the listeners that the server was created with.
    /// - Parameter certificate: encrypts the connections. Nil for plain HTTP.
    /// - Parameter onListening: called with the port, which is useful if `port` is 0.
    package func application(
        _ listener: Listener, host: String, port: Int, certificate: LiveCertificate? = nil,
        onListening: @escaping @Sendable (Int) async -> Void = { _ in }
    ) -> some ApplicationProtocol {
        let server = current
        return Application(
            responder: LiveResponder(server: self, listener: listener),
            server: HTTPServerBuilder { responder in
                let http1 = ConnectionChannel(responder: responder, server: server)
                guard let certificate else { return http1 }
                return SecureChannel(http1: http1, certificate: certificate)
            },
            configuration: ApplicationConfiguration(
                address: .hostname(host, port: port),
                availableConnectionsDelegate: .maximum(
                    PerennialServer.connectionsMax, logger: server.logger)),
            onServerRunning: { channel in
                await onListening(channel.localAddress?.port ?? port)
            },
            logger: server.logger)
    }

    fileprivate func responder(of listener: Listener) -> Responder {
        guard let responder = inForce.withLock({ $0.responders[listener] }) else {
            preconditionFailure("The server was made without this listener.")
        }
        return responder
    }

    private static func responders(
        of server: PerennialServer, for listeners: Set<Listener>
    ) -> [Listener: Responder] {
        Dictionary(
            uniqueKeysWithValues: listeners.map { listener in
                var server = server
                server.listener = listener
                return (listener, server.router().buildResponder())
            })
    }
}

/// Answers each request with the server that is in force when the request begins.
private struct LiveResponder: HTTPResponder {
    let server: LiveServer
    let listener: Listener

    func respond(to request: Request, context: ServerContext) async throws -> Response {
        if let refusal = server.current.localNames?.refusal(of: request.head) {
            return DashboardRoutes.refusal(refusal)
        }
        var head = request.head
        head.method = head.method.routed
        return try await server.responder(of: listener).respond(
            to: Request(head: head, body: request.body), context: context)
    }
}
