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
    /// connections get their turn. Before the server processes the input, a connection buffers
    /// about the product of both.
    static let readBytesMax = 16_384
    static let readsMax: UInt = 4

    let http: HTTP1Channel
    let server: PerennialServer

    func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<HTTP1Channel.Value> {
        http.setup(channel: channel, logger: logger).flatMapThrowing { value in
            let pipeline = channel.pipeline.syncOperations
            let parser = try pipeline.handler(type: ByteToMessageHandler<HTTPRequestDecoder>.self)
            try pipeline.addHandler(
                ConnectionHandler(
                    bodySecondsMax: server.bodies.limits.secondsMax, refusal: server.refusal(of:)),
                position: .after(parser))
            let options = channel.syncOptions
            let allocator = AdaptiveRecvByteBufferAllocator(
                minimum: 1_024, initial: 2_048, maximum: Self.readBytesMax)
            try options?.setOption(.recvAllocator, value: allocator)
            try options?.setOption(.maxMessagesPerRead, value: Self.readsMax)
            let proxies = server.dashboard?.proxy?.addresses ?? []
            if !server.connections.admit(channel, exempt: proxies, server.logger) {
                channel.close(promise: nil)
            }
            return value
        }
    }

    func handle(value: HTTP1Channel.Value, logger: Logger) async {
        await http.handle(value: value, logger: logger)
    }
}

extension PerennialServer {
    /// The response to bytes that are not an HTTP request. It is counted and logged like any other.
    fileprivate func refusal(of error: any Error) -> ConnectionHandler.Refusal {
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
        let head = HTTPResponseHead(
            version: .http1_1, status: .init(statusCode: status.code),
            headers: HTTPHeaders(fields.map { ($0.name.rawName, $0.value) }))
        return (head, body)
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
