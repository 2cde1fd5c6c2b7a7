import Courier
import Engine
import Ledger
import MailClient
import Storage

/// Sends alerts by the channels of the configuration.
struct AlertSender: Sendable {
    let settings: AlertSettings
    /// The address of the page Health; nil if there is no dashboard.
    let page: String?
    private let lookups = HostLookups()

    init(_ settings: AlertSettings, dashboard: DashboardConfiguration?) {
        self.settings = settings
        page = dashboard?.origin.url("/checks")
    }

    /// Sends a message once.
    func send(_ message: AlertMessage, on channel: AlertChannel) async -> AlertOutcome {
        let text = AlertText(message: message, page: page)
        switch channel {
        case .webhook: return await post(text)
        case .mail: return await mail(text)
        }
    }

    /// Where a channel leads to, without what may be a secret.
    func label(of channel: AlertChannel) -> String {
        switch channel {
        case .webhook: ForwardLabel.distinct(settings.webhook?.url ?? "")
        case .mail:
            "\((settings.mail?.to.count ?? 0).counted("address", "addresses")) by "
                + "\(settings.mail?.server.host ?? ""):\(settings.mail?.server.port ?? 0)"
        }
    }

    private static let absent = AlertOutcome.failed(
        reason: "This server's configuration does not have the channel.")

    private func post(_ text: AlertText) async -> AlertOutcome {
        guard let webhook = settings.webhook else { return Self.absent }
        let body: [UInt8]
        do { body = try text.json } catch { return .failed(reason: "\(error)") }
        let courier = Courier(rules: HostRules(webhook.rules)) { [lookups] host in
            try await lookups.addresses(of: host)
        }
        let outcome = await courier.post(
            Courier.Parcel(
                url: webhook.url, id: text.message.id, body: body, secrets: webhook.secrets))
        switch outcome {
        case .answer(200..<300, _, _): return .sent
        case .answer(let status, _, _):
            let reason = "The receiver answered with status \(status), not 2xx."
            return Self.concernsMessage(status) ? .refused(reason: reason) : .failed(reason: reason)
        case .failure(let reason): return .failed(reason: "No answer arrived: \(reason).")
        case .notAttempted: return .failed(reason: "The host could not be looked up yet.")
        }
    }

    /// Whether a status concerns the message, and not the sender, the address or the moment.
    static func concernsMessage(_ status: Int) -> Bool {
        switch status {
        case 401, 403, 404, 407, 408, 410, 421, 425, 429: false
        case 400..<501: true
        default: false
        }
    }

    private func mail(_ text: AlertText) async -> AlertOutcome {
        guard let mails = settings.mail else { return Self.absent }
        let message = text.message
        do throws(MailFailure) {
            let refused = try await MailClient(mails.server).send(
                Mail(
                    id: message.id, from: mails.from, to: mails.to, subject: text.subject,
                    body: text.body, seconds: message.at.milliseconds / 1000))
            guard refused.isEmpty else {
                return .sentInPart(refused: refused.joined(separator: "; "))
            }
            return .sent
        } catch {
            return error.concernsMail
                ? .refused(reason: error.description) : .failed(reason: error.description)
        }
    }

    /// Whether a mail could be sent. Sends nothing.
    ///
    /// - Throws: ``MailFailure`` if the mail server cannot be used.
    func checkMailServer() async throws(MailFailure) {
        guard let mails = settings.mail else { return }
        try await MailClient(mails.server).check()
    }
}
