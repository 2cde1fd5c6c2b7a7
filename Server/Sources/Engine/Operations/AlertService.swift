import Ledger
import Logging
import Storage
import Synchronization

/// The result of an attempt to send an alert.
package enum AlertOutcome: Hashable, Sendable {
    case sent
    /// Some recipients were refused; the others have it.
    case sentInPart(refused: String)
    /// - Parameter reason: what went wrong, and what to do; without secrets.
    case failed(reason: String)
    /// The receiver refused this message, for example because of its content. Other messages may
    /// be accepted.
    case refused(reason: String)
}

extension AlertOutcome {
    /// Why the attempt failed. Empty if nothing did.
    fileprivate var reason: String {
        switch self {
        case .sent: ""
        case .sentInPart(let reason), .failed(let reason), .refused(let reason): reason
        }
    }

    /// Whether at least one recipient has the message.
    package var hasArrived: Bool {
        switch self {
        case .sent, .sentInPart: true
        case .failed, .refused: false
        }
    }
}

/// Alerts about rows of the page Health: which are open, and which messages wait to be sent.
///
/// Every server observes. The first one that reports a row inserts it, in one transaction with the
/// messages, so there is one message for each turn and channel. One server at a time leases a
/// channel and sends its messages in their order. A server that dies between sending a message and
/// recording that causes a repetition, with the same id.
package struct AlertService: Sendable {
    /// The pause after the first attempt that fails; it doubles with each further one.
    package static let pauses = ExponentialBackoff(first: .seconds(30), longest: .seconds(1_800))
    /// A message that could not be sent for so long is deleted.
    package static let messageAgeMax = Duration.hours(24)
    /// A message that was refused in so many attempts in a row, which takes about an hour, is
    /// deleted if another message waits behind it.
    package static let refusalsMax = 8
    /// How long a server may hold a channel. An attempt takes at most 30 seconds.
    package static let lease = Duration.seconds(120)
    /// The number of characters of a message's id after its prefix.
    private static let idCharacters = 20

    let context: Context
    private let latest: BacklogCache

    /// - Parameter former: the service of the previous configuration, whose cache is reused.
    init(context: Context, former: AlertService?) {
        self.context = context
        latest = former?.latest ?? BacklogCache()
    }

    /// A new id of a message.
    package static func newID() -> String {
        "alert_\(IdempotencyKey.digits(for: nil, count: idCharacters))"
    }

    // MARK: - Turns

    /// Opens and closes alerts, and lets a message wait for each channel if any alert turned.
    ///
    /// - Parameters:
    ///   - findings: the rows that need attention now.
    ///   - confirmed: those of them that are to be reported, with the time since when.
    ///   - quiet: the open alerts that nobody has seen for long enough to call their rows well.
    ///   - channels: the channels of the configuration.
    package func update(
        _ findings: [HealthFinding],
        confirmed: [(finding: HealthFinding, since: Instant)], quiet: [OpenAlert],
        on channels: [AlertChannel], at now: Instant
    ) async throws(EngineFailure) {
        let open = try await context.read { tx in try tx.alerts.open() }
        let bad = Set(findings.map(\.subject))
        let over = quiet.filter { !bad.contains($0.subject) }
        let seen = open.map(\.subject).filter(bad.contains)
        let known = Set(open.map(\.subject))
        let new = confirmed.filter { !known.contains($0.finding.subject) }
        guard !over.isEmpty || !seen.isEmpty || !new.isEmpty else { return }
        let id = Self.newID()
        let dropped = try await context.transaction { tx in
            for subject in seen { try tx.alerts.update(subject, seenAt: now) }
            let closed = try over.filter { try tx.alerts.delete($0) }
            let opened = try new.filter { each in
                try tx.alerts.insert(
                    OpenAlert(subject: each.finding.subject, since: each.since, seenAt: now))
            }
            let turned = Set(opened.map(\.finding.subject))
            let message = AlertMessage(
                bad: opened.map { .init($0.finding.subject, since: $0.since, $0.finding) },
                well: closed.map { .init($0.subject, since: $0.since) },
                stillBad: try tx.alerts.open().filter { !turned.contains($0.subject) }.map {
                    .init($0.subject, since: $0.since)
                }, id: id, at: now)
            guard let message else { return 0 }
            return try Self.enqueue(message, on: channels, in: tx)
        }
        report(dropped: dropped)
    }

    /// The open alerts.
    package func open() async throws(EngineFailure) -> [OpenAlert] {
        try await context.read { tx in try tx.alerts.open() }
    }

    /// Lets a message wait for channels.
    package func enqueue(
        _ message: AlertMessage, on channels: [AlertChannel]
    ) async throws(EngineFailure) {
        report(
            dropped: try await context.transaction { tx in
                try Self.enqueue(message, on: channels, in: tx)
            })
    }

    /// Returns how many older messages were deleted, because too many wait.
    private static func enqueue(
        _ message: AlertMessage, on channels: [AlertChannel], in tx: DatabaseSession
    ) throws -> Int {
        let content = try message.content
        return try channels.reduce(0) { dropped, channel in
            dropped
                + (try tx.alerts.enqueue(
                    WaitingAlert(
                        channel: channel, createdAt: message.at, id: message.id, content: content)))
        }
    }

    private func report(dropped count: Int) {
        guard count > 0 else { return }
        for _ in 0..<count { context.counters.alertsGivenUp.add() }
        context.logger.error(
            "alerts were not sent in time, and are deleted", metadata: ["alerts": "\(count)"])
    }

    // MARK: - Sending

    /// Sends the oldest message of a channel, if the channel is due.
    ///
    /// - Parameters:
    ///   - holder: the name of this server in leases.
    ///   - post: sends one message.
    /// - Returns: 1 if a message was sent; otherwise 0.
    package func send(
        on channel: AlertChannel, by holder: String, at now: @Sendable () -> Instant,
        post: (AlertMessage) async -> AlertOutcome
    ) async throws(EngineFailure) -> Int {
        guard let (message, failures) = try await lease(channel, by: holder, at: now()) else {
            return 0
        }
        let outcome: AlertOutcome
        do { outcome = await post(try AlertMessage(content: message.content)) } catch {
            outcome = .refused(reason: "The stored message cannot be read: \(error).")
        }
        record(outcome, of: channel)
        let end = now()
        switch outcome {
        case .sent, .sentInPart:
            try await context.transaction { tx in
                try tx.alerts.complete(message, by: holder, at: end)
            }
            return 1
        case .refused where failures + 1 >= Self.refusalsMax:
            // The next message says what is still bad. So it is worth more than this one.
            let isGivenUp = try await context.transaction { tx in
                guard try tx.alerts.waiting(on: channel) > 1 else { return false }
                try tx.alerts.complete(message, by: holder, at: end)
                return true
            }
            if isGivenUp {
                report(dropped: 1)
                return 0
            }
            try await postpone(channel, outcome.reason, after: failures, by: holder, at: end)
            return 0
        case .failed, .refused:
            try await postpone(channel, outcome.reason, after: failures, by: holder, at: end)
            return 0
        }
    }

    /// Lets a channel pause after an attempt that failed.
    private func postpone(
        _ channel: AlertChannel, _ reason: String, after failures: Int, by holder: String,
        at now: Instant
    ) async throws(EngineFailure) {
        let next = now + Self.pauses.delay(after: failures + 1)
        try await context.transaction { tx in
            try tx.alerts.fail(channel, reason, by: holder, next: next)
        }
    }

    /// Leases a channel that is due, and deletes its messages that are too old. Returns nil if
    /// there is nothing to send.
    private func lease(
        _ channel: AlertChannel, by holder: String, at now: Instant
    ) async throws(EngineFailure) -> (WaitingAlert, failures: Int)? {
        let isDue = try await context.read { tx in
            try tx.alerts.backlogs().contains { $0.channel == channel && $0.waiting > 0 }
        }
        guard isDue else { return nil }
        let (found, dropped) = try await context.transaction {
            tx -> ((WaitingAlert, failures: Int)?, Int) in
            guard
                let failures = try tx.alerts.lease(
                    channel, dueBy: now, for: holder, lease: Self.lease)
            else { return (nil, 0) }
            let dropped = try tx.alerts.delete(on: channel, before: now - Self.messageAgeMax)
            guard let message = try tx.alerts.oldest(on: channel) else {
                try tx.alerts.complete(channel, by: holder)
                return (nil, dropped)
            }
            return ((message, failures), dropped)
        }
        report(dropped: dropped)
        return found
    }

    /// Counts an attempt, and reports a failure to the log.
    package func record(_ outcome: AlertOutcome, of channel: AlertChannel) {
        switch outcome {
        case .sent: context.counters.alertsSent.add()
        case .sentInPart(let refused):
            context.counters.alertsSent.add()
            context.logger.error(
                "recipients of an alert were refused",
                metadata: [
                    "channel": .string(channel.rawValue), "refused": .string(refused),
                ])
        case .failed(let reason), .refused(let reason):
            context.counters.alertsFailed.add()
            context.logger.error(
                "an alert was not sent",
                metadata: [
                    "channel": .string(channel.rawValue), "reason": .string(reason),
                ])
        }
    }

    // MARK: - State

    /// Reads the state of the configured channels, for ``backlogs``. Nothing is sent any more by a
    /// channel that was removed.
    package func refresh(of channels: [AlertChannel]) async throws(EngineFailure) {
        let found = try await context.read { tx in try tx.alerts.backlogs() }
        latest.store(found.filter { channels.contains($0.channel) })
    }

    /// The state of the channels, as of the last ``refresh()``.
    package var backlogs: [AlertBacklog] { latest.backlogs }
}

/// The last known state of the channels.
private final class BacklogCache: Sendable {
    private let latest = Mutex<[AlertBacklog]>([])

    var backlogs: [AlertBacklog] { latest.withLock { $0 } }

    func store(_ backlogs: [AlertBacklog]) { latest.withLock { $0 = backlogs } }
}
