import Foundation
import NIOCore
import NIOPosix
import NIOSSL

/// Sends mails by SMTP. Except on this machine, a connection is encrypted, and the server's
/// certificate verified, before a password or a mail is sent.
package struct MailClient: Sendable {
    /// The time limit of a session, from the connection to the last reply.
    package static let timeout = Duration.seconds(30)
    private static let connectTimeout = TimeAmount.seconds(10)

    private let server: MailServer
    private let timeout: Duration

    package init(_ server: MailServer, timeout: Duration = timeout) {
        self.server = server
        self.timeout = timeout
    }

    /// Sends a mail once.
    ///
    /// - Returns: the server's replies about recipients that it refused. The others get the mail.
    /// - Throws: ``MailFailure`` if nobody gets the mail. If the connection breaks after the mail
    ///   was transmitted, it may have been accepted.
    package func send(_ mail: Mail) async throws(MailFailure) -> [String] {
        try await session { session throws(MailFailure) in try await session.transmit(mail) }
    }

    /// Connects and signs in, and sends nothing.
    package func check() async throws(MailFailure) {
        _ = try await session { _ throws(MailFailure) in [] }
    }

    private func session(
        _ body: @escaping @Sendable (SMTPSession) async throws(MailFailure) -> [String]
    ) async throws(MailFailure) -> [String] {
        let began = ContinuousClock.now
        do {
            let session = try await connected()
            let channel = session.channel
            let deadline = channel.eventLoop.scheduleTask(in: TimeAmount(timeout)) {
                channel.close(promise: nil)
            }
            return try await withTaskCancellationHandler {
                defer {
                    deadline.cancel()
                    channel.close(promise: nil)
                }
                try await session.begin()
                let result = try await body(session)
                await session.quit()
                return result
            } onCancel: {
                channel.close(promise: nil)
            }
        } catch {
            guard ContinuousClock.now - began < timeout else {
                throw MailFailure("The mail server did not finish within \(timeout).")
            }
            throw SMTPConversation.failure(error)
        }
    }

    /// Connects. This is the only function that uses the network.
    private func connected() async throws -> SMTPSession {
        let encryption = try Self.encryption(of: server)
        let ending = SMTPEnding()
        let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .connectTimeout(Self.connectTimeout)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let pipeline = channel.pipeline.syncOperations
                    if server.beginsWithTLS { try pipeline.addHandler(try encryption()) }
                    try pipeline.addHandler(SMTPConversation(ending: ending))
                }
            }.connect(host: server.host, port: server.port).get()
        return SMTPSession(
            channel: channel, server: server, ending: ending, encryption: encryption)
    }

    /// Returns a function that makes the handler of TLS, which verifies the server's certificate
    /// for the host's name.
    private static func encryption(
        of server: MailServer
    ) throws -> @Sendable () throws -> NIOSSLClientHandler {
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.minimumTLSVersion = .tlsv12
        if !server.extraRoots.isEmpty {
            configuration.additionalTrustRoots = [
                .certificates(try NIOSSLCertificate.fromPEMBytes(server.extraRoots))
            ]
        }
        let context = try NIOSSLContext(configuration: configuration)
        // A certificate for an IP address is compared with the address of the connection.
        let isAddress = (try? SocketAddress(ipAddress: server.host, port: 0)) != nil
        let name = isAddress ? nil : server.host
        return { try NIOSSLClientHandler(context: context, serverHostname: name) }
    }
}

/// The commands of one connection.
struct SMTPSession: Sendable {
    let channel: any Channel
    let server: MailServer
    let ending: SMTPEnding
    let encryption: @Sendable () throws -> NIOSSLClientHandler

    /// Waits for the greeting, encrypts the connection, and signs in.
    func begin() async throws(MailFailure) {
        try require(220, try await exchange(nil), to: "the connection")
        var extensions = try await hello()
        // On this machine nobody else can read the mail, and a certificate is often missing.
        let isExempt = isOnThisMachine && server.extraRoots.isEmpty
        if !server.beginsWithTLS, !isExempt {
            guard extensions.contains(["STARTTLS"]) else {
                throw MailFailure(
                    "The mail server offers no encryption (STARTTLS).",
                    remedy: "Use a port with TLS, such as 465, or another server: alerts are not "
                        + "sent over a network unencrypted.")
            }
            let reply = try await exchange("STARTTLS", encryption)
            try require(220, reply, to: "STARTTLS")
            extensions = try await hello()
        }
        if let credentials = server.credentials { try await signIn(credentials, extensions) }
    }

    private var isOnThisMachine: Bool {
        switch channel.remoteAddress {
        case .v4(let address)?:
            withUnsafeBytes(of: address.address.sin_addr) { $0.first == 127 }
        case .v6(let address)?:
            withUnsafeBytes(of: address.address.sin6_addr) {
                $0.elementsEqual(Array(repeating: 0, count: 15) + [1])
            }
        case .unixDomainSocket?, nil: false
        }
    }

    /// Introduces this machine by its address, and returns the server's extensions.
    private func hello() async throws(MailFailure) -> [[String]] {
        let address = channel.localAddress?.ipAddress ?? "127.0.0.1"
        let name = address.contains(":") ? "[IPv6:\(address)]" : "[\(address)]"
        let reply = try await exchange("EHLO \(name)")
        try require(250, reply, to: "EHLO")
        return reply.extensions
    }

    private func signIn(
        _ credentials: MailServer.Credentials, _ extensions: [[String]]
    ) async throws(MailFailure) {
        let offered = Set(extensions.filter { $0.first == "AUTH" }.flatMap { $0.dropFirst() })
        let reply: SMTPReply
        if offered.contains("PLAIN") {
            let text = "\0\(credentials.user)\0\(credentials.password)"
            reply = try await exchange("AUTH PLAIN \(Self.base64(text))")
        } else if offered.contains("LOGIN") {
            try require(334, try await exchange("AUTH LOGIN"), to: "AUTH")
            let name = try await exchange(Self.base64(credentials.user))
            try require(334, name, to: "AUTH")
            reply = try await exchange(Self.base64(credentials.password))
        } else {
            throw MailFailure(
                "The mail server offers neither AUTH PLAIN nor AUTH LOGIN.",
                remedy: "Leave out `user`, or use the port for signing in, such as 587.")
        }
        guard reply.code == 235 else {
            // The text of this reply is not quoted, because it could contain the password.
            throw MailFailure(
                "The mail server refused user and password (\(reply.code)).",
                remedy: "Compare `user` and the password with those of the mail account.")
        }
    }

    private static func base64(_ text: String) -> String {
        Data(text.utf8).base64EncodedString()
    }

    /// Sends a mail. Returns the replies about recipients that were refused.
    func transmit(_ mail: Mail) async throws(MailFailure) -> [String] {
        try require(250, try await exchange("MAIL FROM:<\(mail.from)>"), to: "the sender")
        var refused: [String] = []
        for address in mail.to {
            let reply = try await exchange("RCPT TO:<\(address)>")
            if ![250, 251].contains(reply.code) { refused.append(reply.text) }
        }
        guard refused.count < mail.to.count else {
            throw MailFailure(
                "The mail server refused every recipient: \(refused.first ?? "").",
                remedy: "Check `to`, and whether the server sends mail for `from`.")
        }
        try require(354, try await exchange("DATA"), to: "DATA")
        let end = try await exchange(MailText.transmitted(mail.text))
        do throws(MailFailure) { try require(250, end, to: "the mail") } catch {
            var failure = error
            // 5yz: the reply will not change (RFC 5321, section 4.2.1).
            failure.concernsMail = (500..<600).contains(end.code)
            throw failure
        }
        return refused
    }

    /// Ends the session. The mail counts as sent even if the server does not reply.
    func quit() async { _ = try? await exchange("QUIT") }

    /// Sends a line and returns the reply. Without a line, waits for the greeting.
    private func exchange(
        _ line: String?, _ encryption: (@Sendable () throws -> NIOSSLClientHandler)? = nil
    ) async throws(MailFailure) -> SMTPReply {
        let promise = channel.eventLoop.makePromise(of: SMTPReply.self)
        let written = channel.eventLoop.makePromise(of: Void.self)
        written.futureResult.whenFailure { [ending] error in
            promise.fail(ending.failure ?? SMTPConversation.failure(error))
        }
        channel.writeAndFlush(
            SMTPExchange(
                bytes: line.map { ByteBuffer(string: $0 + "\r\n") }, encryption: encryption,
                reply: promise), promise: written)
        do { return try await promise.futureResult.get() } catch {
            throw SMTPConversation.failure(error)
        }
    }

    private func require(
        _ code: Int, _ reply: SMTPReply, to what: String
    ) throws(MailFailure) {
        guard reply.code == code else {
            throw MailFailure("The mail server did not accept \(what): \(reply.text).")
        }
    }
}
