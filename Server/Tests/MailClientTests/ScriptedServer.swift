import NIOCore
import NIOPosix
import Synchronization
import Testing

/// A mail server that replies to each line as a script says.
struct ScriptedServer {
    typealias Script = @Sendable (String) -> String?

    /// Replies as a friendly server does. Between DATA and the end of a mail it does not reply.
    static let friendly: Script = { line in
        switch line.prefix(4) {
        case "EHLO": "250-mail.example\r\n250-AUTH PLAIN LOGIN\r\n250 STARTTLS\r\n"
        case "AUTH": "235 OK\r\n"
        case "MAIL", "RCPT", ".": "250 OK\r\n"
        case "DATA": "354 go\r\n"
        case "QUIT": "221 bye\r\n"
        default: nil
        }
    }

    let port: Int
    private let lines: Lines

    /// The lines that the server has received.
    final class Lines: Sendable {
        private let lines = Mutex<[String]>([])
        var all: [String] { lines.withLock { $0 } }
        func add(_ line: String) { lines.withLock { $0.append(line) } }
    }

    var received: [String] { lines.all }

    /// - Parameters:
    ///   - greeting: the first reply; empty for a server that says nothing.
    ///   - script: returns the reply to a line; nil for none. An empty reply closes the connection.
    static func run(
        greeting: String = "220 mail.example\r\n", _ script: @escaping Script = friendly,
        _ body: (ScriptedServer) async throws -> Void
    ) async throws {
        let lines = Lines()
        let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(
                        Handler(greeting: greeting, script: script, lines: lines))
                }
            }.bind(host: "127.0.0.1", port: 0).get()
        let port = try #require(channel.localAddress?.port)
        do {
            try await body(ScriptedServer(port: port, lines: lines))
            try await channel.close()
        } catch {
            try await channel.close()
            throw error
        }
    }

    private final class Handler: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        typealias OutboundOut = ByteBuffer

        private let greeting: String
        private let script: Script
        private let lines: Lines
        private var rest = ""

        init(greeting: String, script: @escaping Script, lines: Lines) {
            (self.greeting, self.script, self.lines) = (greeting, script, lines)
        }

        func channelActive(context: ChannelHandlerContext) { send(greeting, context) }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            rest += String(buffer: unwrapInboundIn(data))
            while let end = rest.firstRange(of: "\r\n") {
                let line = String(rest[..<end.lowerBound])
                rest.removeSubrange(..<end.upperBound)
                lines.add(line)
                guard let reply = script(line) else { continue }
                if reply.isEmpty { context.close(promise: nil) } else { send(reply, context) }
            }
        }

        private func send(_ text: String, _ context: ChannelHandlerContext) {
            context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: text)), promise: nil)
        }
    }
}
