import HTTPTypes
import Hummingbird
import HummingbirdCore
import Logging
import NIOCore
import NIOHTTP1
import PerennialContract

/// One connection of the HTTP framework, with a ``ConnectionHandler`` behind its parser.
struct ConnectionChannel: ServerChildChannel {
    /// The maximum number of bytes per read, and the maximum number of reads before other
    /// connections get their turn. Before the server processes the input, a connection buffers at
    /// most about the product of these two numbers.
    static let readBytesMax = 16_384
    static let readsMax: UInt = 4

    private let http: HTTP1Channel
    let server: PerennialServer

    init(responder: @escaping HTTPChannelHandler.Responder, server: PerennialServer) {
        http = HTTP1Channel(
            responder: responder,
            configuration: .init(
                idleTimeout: .seconds(PerennialServer.idleSeconds),
                httpDecoderConfiguration: .init(
                    maxHeaderFieldSize: PerennialServer.headerBytesMax,
                    maxHeaderListSize: PerennialServer.headerBytesMax)))
        self.server = server
    }

    func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<HTTP1Channel.Value> {
        addHandlers(to: channel, logger: logger).flatMapThrowing { value in
            try limitReads(of: channel)
            if !server.admits(channel) { channel.close(promise: nil) }
            return value
        }
    }

    /// Adds the parser, and the handlers that follow it, to the end of the pipeline.
    func addHandlers(
        to channel: any Channel, logger: Logger
    ) -> EventLoopFuture<HTTP1Channel.Value> {
        http.setup(channel: channel, logger: logger).flatMapThrowing { value in
            let pipeline = channel.pipeline.syncOperations
            let parser = try pipeline.handler(type: ByteToMessageHandler<HTTPRequestDecoder>.self)
            let heads = HeadWatch(server.headTimer(of: channel))
            try pipeline.addHandler(heads, position: .before(parser))
            try pipeline.addHandler(connectionHandler(heads: heads), position: .after(parser))
            return value
        }
    }

    /// Returns the handler of a connection, or of one stream of a connection with HTTP/2.
    func connectionHandler(
        heads: HeadWatch? = nil, isStream: Bool = false
    ) -> ConnectionHandler {
        ConnectionHandler(
            bodySecondsMax: server.bodies.limits.secondsMax, heads: heads, isStream: isStream,
            refusal: { [server] in ConnectionHandler.Refusal(server.refusal(of: $0)) })
    }

    func limitReads(of channel: any Channel) throws {
        let options = channel.syncOptions
        let allocator = AdaptiveRecvByteBufferAllocator(
            minimum: 1_024, initial: 2_048, maximum: Self.readBytesMax)
        try options?.setOption(.recvAllocator, value: allocator)
        try options?.setOption(.maxMessagesPerRead, value: Self.readsMax)
    }

    func handle(value: HTTP1Channel.Value, logger: Logger) async {
        await http.handle(value: value, logger: logger)
    }
}

extension PerennialServer {
    /// The response to a request that is not passed on to a route.
    typealias Refusal = (head: HTTPResponse, body: ByteBuffer)

    /// Counts a connection. Returns false if the connection must be closed at once: see
    /// ``ConnectionCounts``.
    func admits(_ channel: any Channel) -> Bool {
        connections.admit(channel, from: limitedNetwork(of: channel))
    }

    /// Counts a stream of a connection with HTTP/2. Returns false if the stream must be refused:
    /// see ``ConnectionCounts``.
    func admits(stream: any Channel) -> Bool {
        connections.admit(stream: stream, from: limitedNetwork(of: stream))
    }

    /// Returns the limits of incomplete heads on a connection.
    func headTimer(of channel: any Channel) -> HeadTimer {
        let secondsMax = connections.limits.headSecondsMax
        guard let network = limitedNetwork(of: channel) else {
            return HeadTimer(secondsMax: secondsMax)
        }
        return HeadTimer(
            secondsMax: secondsMax,
            reserve: { [connections] in connections.admitHalfSent(from: network) },
            release: { [connections] in connections.releaseHalfSent(from: network) })
    }

    private func limitedNetwork(of channel: any Channel) -> String? {
        ConnectionCounts.network(of: channel, exempt: dashboard?.proxy?.addresses ?? [])
    }

    /// Returns the response to bytes that are not an HTTP request, or to a request that is not
    /// passed on to a route. Counts and logs the response like any other.
    func refusal(of error: any Error) -> Refusal {
        let began = ContinuousClock.now
        let refused = ProblemError.notParsed(error)
        let requestID = RequestMiddleware.requestID(asked: nil)
        refused.log(requestID: requestID, to: logger)
        let body = refused.body(
            requestID: requestID, at: Timestamp(engine.context.serverTime), logger)
        var fields = refused.headers
        fields[.contentType] = Problem.mediaType
        fields[.contentLength] = String(body.readableBytes)
        requestMiddleware.addCommonHeaders(&fields, requestID: requestID)
        let status = HTTPResponse.Status(code: refused.problem.status)
        requestMiddleware.finish(nil, route: nil, status, requestID: requestID, began: began)
        return (HTTPResponse(status: status, headerFields: fields), body)
    }
}

extension ConnectionHandler.Refusal {
    fileprivate init(_ refusal: PerennialServer.Refusal) {
        let (head, body) = refusal
        self.init(
            head: HTTPResponseHead(
                version: .http1_1, status: .init(statusCode: head.status.code),
                headers: HTTPHeaders(head.headerFields.map { ($0.name.rawName, $0.value) })),
            body: body)
    }
}

extension ProblemError {
    fileprivate static func notParsed(_ error: any Error) -> ProblemError {
        if let wrong = error as? WrongHost {
            return ProblemError(.requestNotHTTP, detail: wrong.detail)
        }
        let found: String? =
            switch error as? HTTPParserError {
            case .headerOverflow?:
                "At most \(PerennialServer.headerBytesMax) bytes of header fields are accepted."
            case let known?: "The parser found: \(known.debugDescription)."
            case nil: nil
            }
        return ProblemError(.requestNotHTTP, detail: found)
    }
}
