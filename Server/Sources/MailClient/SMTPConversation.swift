import Foundation
import NIOCore
import NIOPosix
import NIOSSL
import Synchronization

/// A command and the reply that it gets.
struct SMTPExchange: Sendable {
    /// The command; nil to wait for the greeting, which follows no command.
    var bytes: ByteBuffer?
    /// Makes the handler that encrypts everything after a positive reply. Nil unless the command is
    /// STARTTLS.
    var encryption: (@Sendable () throws -> NIOSSLClientHandler)?
    var reply: EventLoopPromise<SMTPReply>
}

/// Why a conversation has ended, which can still be read after its channel was closed.
final class SMTPEnding: Sendable {
    private let first = Mutex<MailFailure?>(nil)

    var failure: MailFailure? { first.withLock { $0 } }

    /// Only the first failure counts: others follow from it.
    func record(_ failure: MailFailure) {
        first.withLock { if $0 == nil { $0 = failure } }
    }
}

/// Sends one command at a time on a channel, and completes its promise with the reply.
///
/// A server speaks only when it is asked. Bytes that arrive before a command, or behind the reply
/// to STARTTLS, are a failure: somebody on the network could have added them, and they would count
/// as the reply to an encrypted command.
final class SMTPConversation: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundIn = SMTPExchange
    typealias OutboundOut = ByteBuffer

    private var parser = SMTPReplyParser()
    private var pending: SMTPExchange?
    /// The server's first reply, until somebody waits for it.
    private var greeting: SMTPReply?
    private var isGreeted = false
    private var failure: MailFailure?
    private let ending: SMTPEnding

    init(ending: SMTPEnding) { self.ending = ending }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        let exchange = unwrapOutboundIn(data)
        if let failure {
            exchange.reply.fail(failure)
            promise?.fail(failure)
            return
        }
        guard let bytes = exchange.bytes else {
            if let greeting { exchange.reply.succeed(greeting) } else { pending = exchange }
            promise?.succeed(())
            return
        }
        pending = exchange
        context.write(wrapOutboundOut(bytes), promise: promise)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        parser.append(unwrapInboundIn(data).readableBytesView)
        do throws(MailFailure) {
            while failure == nil, let reply = try parser.next() {
                try complete(with: reply, in: context)
            }
        } catch { fail(error, in: context) }
    }

    private func complete(
        with reply: SMTPReply, in context: ChannelHandlerContext
    ) throws(MailFailure) {
        guard let exchange = pending else {
            guard !isGreeted else {
                throw MailFailure("The mail server ended the session: \(reply.text).")
            }
            (greeting, isGreeted) = (reply, true)
            return
        }
        (pending, isGreeted) = (nil, true)
        guard let encryption = exchange.encryption, reply.code == 220 else {
            return exchange.reply.succeed(reply)
        }
        do {
            guard !parser.hasRest else {
                throw MailFailure("The mail server sent text before the encryption began.")
            }
            try context.pipeline.syncOperations.addHandler(try encryption(), position: .first)
            exchange.reply.succeed(reply)
        } catch {
            let failure = Self.failure(error)
            exchange.reply.fail(failure)
            throw failure
        }
    }

    func channelInactive(context: ChannelHandlerContext) {
        fail(MailFailure("The mail server closed the connection."), in: context)
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        fail(Self.failure(error), in: context)
    }

    private func fail(_ failure: MailFailure, in context: ChannelHandlerContext) {
        if self.failure == nil { self.failure = failure }
        ending.record(failure)
        pending?.reply.fail(self.failure ?? failure)
        pending = nil
        context.close(promise: nil)
    }

    /// The failure that an error of the network or of TLS means.
    static func failure(_ error: any Error) -> MailFailure {
        if let failure = error as? MailFailure { return failure }
        if error is NIOSSLError || error is BoringSSLError || error is NIOSSLExtraError {
            return MailFailure(
                "TLS with the mail server failed: \(error).",
                remedy: "Check the name in `server`. If a private authority has signed its "
                    + "certificate, name the authority's certificate in `ca_file`.")
        }
        return MailFailure(
            "There is no connection to the mail server: \(reason(error)).",
            remedy: "Check `server`, and that this machine may connect to its port.")
    }

    private static func reason(_ error: any Error) -> String {
        switch error {
        case let failure as NIOConnectionError:
            failure.connectionErrors.first.map { reason($0.error) }
                ?? "there is no host \(failure.host)"
        case let failure as IOError: String(cString: strerror(failure.errnoCode))
        default: "\(error)"
        }
    }
}
