import HTTPTypes
import Hummingbird
import HummingbirdCore
import Logging
import NIOCore
import NIOHTTP1
import PerennialContract

/// A connection of the framework, with a ``ConnectionHandler`` behind its parser.
struct ConnectionChannel: ServerChildChannel {
    /// Bytes that are read at once, so many times before others have their turn. A connection holds
    /// about as much as both together before anybody wants what it sends.
    static let readBytesMax = 16_384
    static let readsMax: UInt = 4

    let http: HTTP1Channel
    let server: PerennialServer

    func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<HTTP1Channel.Value> {
        http.setup(channel: channel, logger: logger).flatMapThrowing { value in
            let pipeline = channel.pipeline.syncOperations
            let parser = try pipeline.handler(type: ByteToMessageHandler<HTTPRequestDecoder>.self)
            try pipeline.addHandler(
                ConnectionHandler(refusal: server.refusal(of:)), position: .after(parser))
            let options = channel.syncOptions
            let allocator = AdaptiveRecvByteBufferAllocator(
                minimum: 1_024, initial: 2_048, maximum: Self.readBytesMax)
            try options?.setOption(.recvAllocator, value: allocator)
            try options?.setOption(.maxMessagesPerRead, value: Self.readsMax)
            return value
        }
    }

    func handle(value: HTTP1Channel.Value, logger: Logger) async {
        await http.handle(value: value, logger: logger)
    }
}

extension PerennialServer {
    /// The response to what is no HTTP request; it is counted and logged like others.
    fileprivate func refusal(of error: any Error) -> ConnectionHandler.Refusal {
        let began = ContinuousClock.now
        let refused = Refused.notParsed(error)
        let requestID = RequestFrame.requestID(asked: nil)
        refused.log(requestID: requestID, to: logger)
        let body = refused.body(requestID: requestID, logger)
        var fields = refused.headers
        fields[.contentType] = Problem.mediaType
        fields[.contentLength] = String(body.readableBytes)
        RequestFrame.complete(&fields, requestID: requestID)
        let status = HTTPResponse.Status(code: refused.problem.status)
        frame.finish(nil, route: nil, status, requestID: requestID, began: began)
        let head = HTTPResponseHead(
            version: .http1_1, status: .init(statusCode: status.code),
            headers: HTTPHeaders(fields.map { ($0.name.rawName, $0.value) }))
        return (head, body)
    }
}

extension Refused {
    fileprivate static func notParsed(_ error: any Error) -> Refused {
        let found: String? =
            switch error as? HTTPParserError {
            case .headerOverflow?:
                "All header fields together may have \(PerennialServer.headerBytesMax) bytes."
            case let known?: "The parser found: \(known.debugDescription)."
            case nil: nil
            }
        return Refused(
            .requestNotUnderstood, "This is not an HTTP request that can be read.", detail: found,
            remedy: "Send HTTP/1.1 as RFC 9112 writes it.")
    }
}
