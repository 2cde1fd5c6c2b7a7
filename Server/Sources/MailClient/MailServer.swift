/// A server that accepts mails by SMTP, and how to sign in there.
package struct MailServer: Hashable, Sendable {
    /// The port at which TLS begins with the connection (RFC 8314 §7.3).
    package static let securePort = 465

    package var host: String
    package var port: Int
    /// Nil if the server accepts mails without authentication.
    package var credentials: Credentials?
    /// Certificates in PEM that are trusted in addition to those of the system. Empty if there are
    /// none.
    package var extraRoots: [UInt8]
    /// Whether TLS begins with the connection, and not by STARTTLS.
    package var beginsWithTLS: Bool

    package struct Credentials: Hashable, Sendable, CustomStringConvertible {
        let user: String
        let password: String

        package init(user: String, password: String) {
            (self.user, self.password) = (user, password)
        }

        package var description: String { "the credentials of a mail server" }
    }

    package init(
        host: String, port: Int, credentials: Credentials? = nil, extraRoots: [UInt8] = []
    ) {
        (self.host, self.port) = (host, port)
        (self.credentials, self.extraRoots) = (credentials, extraRoots)
        beginsWithTLS = port == Self.securePort
    }
}

/// Why a mail was not sent, and what to do.
package struct MailFailure: Error, Hashable, CustomStringConvertible {
    package var message: String
    package var remedy: String
    /// Whether the server refused this mail for good. It may accept other mails.
    package var concernsMail = false

    init(_ message: String, remedy: String = "Look at the log of the mail server.") {
        (self.message, self.remedy) = (message, remedy)
    }

    package var description: String { "\(message) \(remedy)" }
}
