import Courier
import Engine
import Foundation
import MailClient
import Storage
import Yams

/// By which channels a server sends alerts.
package struct AlertSettings: Hashable, Sendable {
    /// An address that gets alerts as JSON.
    package struct Webhook: Hashable, Sendable {
        package var url: String
        /// The secrets that sign alerts. Empty if alerts are not signed.
        package var secrets: [WebhookSecret] = []
        package var rules = WebhookRules()
    }

    /// Mail addresses that get alerts.
    package struct Mails: Hashable, Sendable {
        package var server: MailServer
        package var from: MailAddress
        package var to: [MailAddress]
    }

    package var webhook: Webhook?
    package var mail: Mails?

    package var channels: [AlertChannel] {
        (mail == nil ? [] : [.mail]) + (webhook == nil ? [] : [.webhook])
    }

    static let keys = ["webhook", "mail"]
    static let webhookKeys = [
        "url", "url_file", "url_env", "secret_file", "secret_env", "allow_private",
    ]
    static let mailKeys = [
        "server", "user", "password_file", "password_env", "from", "to", "ca_file",
    ]
    fileprivate static let recipientsMax = 20
    fileprivate static let privateHostsMax = 100
    fileprivate static let hostCharactersMax = 253
    /// The port of mail servers for programs that sign in (RFC 6409).
    fileprivate static let portDefault = 587
    fileprivate static let userBytesMax = 320
}

extension ConfigurationReader {
    /// Reads the mapping `alerts`. Returns nil if it names no usable channel, which is a complaint.
    mutating func alerts(_ node: Node) -> AlertSettings? {
        let found = members(of: node, known: AlertSettings.keys, in: "alerts")
        var alerts = AlertSettings()
        alerts.webhook = found["webhook"].flatMap { alertWebhook($0) }
        alerts.mail = found["mail"].flatMap { alertMails($0) }
        guard found.isEmpty else { return alerts }
        complain(
            node, "alerts has neither webhook nor mail.",
            "Add one of them, or leave out `alerts:`.")
        return nil
    }

    // MARK: - Webhook

    private mutating func alertWebhook(_ node: Node) -> AlertSettings.Webhook? {
        let found = members(of: node, known: AlertSettings.webhookKeys, in: "webhook")
        var rules = WebhookRules()
        if let hosts = found["allow_private"] {
            let names = names(hosts, of: "allow_private").prefix(AlertSettings.privateHostsMax)
            rules.privateHosts = Set(names.map { $0.lowercased() })
        }
        let isHidden = found["url_file"] != nil || found["url_env"] != nil
        let url = isHidden ? nonEmptyHidden("url", in: found) : found["url"].flatMap { text($0) }
        if isHidden, url == nil { return nil }
        guard let url, rules.permits(url: url), !isHidden || found["url"] == nil else {
            complain(
                found["url"] ?? found["url_file"] ?? found["url_env"] ?? node,
                "The webhook of alerts has no valid url.",
                "Use a URL like https://example.com/alerts, or name a file or variable with it in "
                    + "url_file or url_env: with https, unless the host is listed in "
                    + "allow_private, and without user, password, or fragment.")
            return nil
        }
        let secrets = (nonEmptyHidden("secret", in: found) ?? "").split { $0.isWhitespace }
            .map { WebhookSecret(String($0)) }
        guard secrets.count <= Courier.secretsMax, !secrets.contains(nil) else {
            complain(
                found["secret_file"] ?? found["secret_env"],
                "The webhook of alerts has no valid secret.",
                "Let secret_file or secret_env name a secret: whsec_ and base64 of 24 to 64 "
                    + "bytes, such as echo whsec_$(openssl rand -base64 32) prints.")
            return nil
        }
        return AlertSettings.Webhook(url: url, secrets: secrets.compactMap(\.self), rules: rules)
    }

    /// Returns a hidden text. Returns nil if no key names one, or if it is empty or too long, which
    /// is a complaint.
    private mutating func nonEmptyHidden(_ name: String, in found: [String: Node]) -> String? {
        guard let hidden = hidden(name, in: found) else { return nil }
        if !hidden.text.isEmpty, hidden.text.utf8.count <= WebhookRules.urlBytesMax {
            return hidden.text
        }
        complain(
            hidden.node, "“\(text(hidden.node) ?? "…")” contains no \(name).",
            hidden.isInFile
                ? "Name a file that contains it, relative to this file's folder."
                : "Set the variable to it.")
        return nil
    }

    // MARK: - Mail

    private mutating func alertMails(_ node: Node) -> AlertSettings.Mails? {
        let found = members(of: node, known: AlertSettings.mailKeys, in: "mail")
        let server = mailServer(found, node)
        let senders = mailAddresses(found["from"] ?? node, found["from"], max: 1, of: "from")
        let recipients = mailAddresses(
            found["to"] ?? node, found["to"], max: AlertSettings.recipientsMax, of: "to")
        guard let server, let from = senders?.first, let recipients else { return nil }
        return AlertSettings.Mails(server: server, from: from, to: recipients)
    }

    private mutating func mailAddresses(
        _ place: Node, _ node: Node?, max: Int, of key: String
    ) -> [MailAddress]? {
        let written = node.map { names($0, of: key) } ?? []
        let addresses = written.map { MailAddress($0) }
        guard (1...max).contains(written.count), !addresses.contains(nil) else {
            complain(
                place, "mail has no valid \(key).",
                max == 1
                    ? "Write one mail address: `\(key): perennial@example.com`."
                    : "Write 1 to \(max) mail addresses: `\(key): [ops@example.com]`.")
            return nil
        }
        return addresses.compactMap(\.self)
    }

    private mutating func mailServer(_ found: [String: Node], _ node: Node) -> MailServer? {
        guard var server = found["server"].flatMap({ text($0) }).flatMap(MailServer.init(place:))
        else {
            complain(
                found["server"] ?? node, "mail has no valid server.",
                "Write host and port: `server: smtp.example.com:587`. At port 465, TLS begins "
                    + "with the connection; at others, by STARTTLS.")
            return nil
        }
        if let file = found["ca_file"] {
            guard let text = textOfFile(file), text.contains("-----BEGIN CERTIFICATE-----") else {
                complain(
                    file, "ca_file names no certificate.",
                    "Name a PEM file with the certificate of the authority that has signed the "
                        + "mail server's, relative to this file's folder.")
                return nil
            }
            server.extraRoots = Array(text.utf8)
        }
        let place = found["password_file"] ?? found["password_env"]
        guard found["user"] != nil || place != nil else { return server }
        guard let user = found["user"].flatMap({ nonEmptyText($0) }), place != nil,
            user.utf8.count <= AlertSettings.userBytesMax
        else {
            complain(
                found["user"] ?? place, "mail needs both user and password.",
                "Write user, and name a file or variable with the password in password_file or "
                    + "password_env. Without both, the server is used without signing in.")
            return nil
        }
        guard let password = nonEmptyHidden("password", in: found) else { return nil }
        server.credentials = MailServer.Credentials(user: user, password: password)
        return server
    }
}

extension MailServer {
    /// Reads a host and a port, such as `smtp.example.com:587` or `[::1]:25`. Without a port, it is
    /// 587.
    fileprivate init?(place: String) {
        var (host, port) = (Substring(place), AlertSettings.portDefault)
        let end = place.lastIndex(of: "]") ?? place.startIndex
        if let colon = place[end...].lastIndex(of: ":") {
            guard let number = Int(place[place.index(after: colon)...]),
                (1...65_535).contains(number)
            else { return nil }
            (host, port) = (place[..<colon], number)
        }
        if host.hasPrefix("["), host.hasSuffix("]") {
            host = host.dropFirst().dropLast()
            guard IPAddress(String(host)) != nil else { return nil }
        } else if host.contains(":") {
            return nil
        }
        guard !host.isEmpty, host.count <= AlertSettings.hostCharactersMax,
            host.allSatisfy({ $0.isASCII && ($0.isLetter || $0.isNumber || ".-:_".contains($0)) })
        else { return nil }
        self.init(host: String(host), port: port)
    }
}
