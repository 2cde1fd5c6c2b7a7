import AppStoreFormats
import Dashboard
import PerennialContract

// The log of messages from the phone and from Apple, with the server's reaction to each message.

extension PhoneBackend {
    /// Adds everything that is new since the last reading: the phone's own lines, Apple's
    /// notifications about the customer, and the events. All messages of one minute are one entry.
    func follow(_ notifications: [JSON], at now: Timestamp) {
        var groups: [Int64: [WireEntry.Line]] = [:]
        func add(_ line: WireEntry.Line, _ at: Timestamp) {
            groups[at.milliseconds / 60_000, default: []].append(line)
        }
        for line in lines { add(line, now) }
        for notification in notifications where isNew(notification) {
            let at = notification["at"]?.string.flatMap { Timestamp($0) } ?? now
            add(line(of: notification), at)
            followRefund(notification, at)
        }
        for event in events.dropFirst(shownEventCount) { add(WireEntry.line(of: event), event.at) }
        shownEventCount = events.count
        lines = []
        for (minute, lines) in groups.sorted(by: { $0.key < $1.key }) {
            let at = Timestamp(milliseconds: minute * 60_000)
            let id = (wire.first?.id ?? 0) + 1
            wire.insert(WireEntry(id: id, at: at, lines: lines), at: 0)
        }
        wire = Array(wire.prefix(WireEntry.countMax))
    }

    /// Whether the notification is new, and is about the customer, or about the share of the other
    /// customer.
    private func isNew(_ notification: JSON) -> Bool {
        guard let id = notification["uuid"]?.string, let account = notification["account"]?.string,
            account == customer || account == Self.other && otherPhone != nil
        else { return false }
        return seenNotifications.insert(id).inserted
    }

    private func line(of notification: JSON) -> WireEntry.Line {
        let account = notification["account"]?.string
        let details = [
            notification["subtype"]?.string,
            account == customer ? nil : account.map { "for \($0)" },
        ].compactMap { $0 }
        return WireEntry.Line(
            "Apple", .code(notification["type"]?.string ?? "?"),
            detail: details.isEmpty ? nil : details.joined(separator: ", "),
            result: Self.result(of: notification))
    }

    /// The result of the notification's last delivery attempt.
    private static func result(of notification: JSON) -> String {
        guard let attempt = notification["attempts"]?.array?.last else { return "not sent yet" }
        guard let status = attempt["status"]?.integer else { return "no answer" }
        return (200..<300).contains(status) ? "\(status), kept" : "\(status)"
    }

    /// When Apple requests consumption information, begins the wait for Apple's decision.
    private func followRefund(_ notification: JSON, _ at: Timestamp) {
        guard notification["account"]?.string == customer else { return }
        switch notification["type"]?.string {
        case NotificationType.consumptionRequest.rawValue:
            refund = AskedRefund(
                decidedAt: Timestamp(milliseconds: at.milliseconds + Self.refundHours * 3_600_000))
        case NotificationType.refund.rawValue, NotificationType.refundDeclined.rawValue:
            (refund, device.hasRefundDecision) = (nil, true)
        default: return
        }
    }

    /// Adds a sentence about an action.
    func say(_ sentence: String, by who: String = "phone", result: String = "nothing sent") {
        lines.append(.init(who, .sentence(sentence), result: result))
    }

    /// Adds a request to the server.
    func add(_ answer: LoopbackClient.Answer, to request: String, by who: String) {
        lines.append(
            .init(
                who, .code(request), result: "\(answer.status), \(answer.milliseconds) ms"))
    }
}
