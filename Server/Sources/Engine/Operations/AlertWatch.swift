import Ledger
import Storage

/// Which rows of the page Health need attention for longer than a moment. Pure: the caller makes
/// the observations.
package struct AlertWatch: Hashable, Sendable {
    /// A row is reported after so many observations in a row at which it needs attention.
    package static let observationsBeforeAlert = 2
    /// A row counts as well again after no server has seen for so long that it needs attention.
    package static let wellAfter = Duration.seconds(300)

    private struct Sighting: Hashable {
        var seenAt: Instant
        var since: Instant
    }

    private struct Suspicion: Hashable {
        var since: Instant
        var observations: Int
    }

    /// What open alerts said about when they were last seen, and since when they say so by this
    /// server's clock.
    private var sightings: [AlertSubject: Sighting] = [:]
    private var suspicions: [AlertSubject: Suspicion] = [:]

    package init() {}

    /// Adds an observation.
    ///
    /// - Parameter findings: the rows that need attention.
    /// - Returns: those of them that are to be reported, with the time since when.
    package mutating func add(
        _ findings: [HealthFinding], at now: Instant
    ) -> [(finding: HealthFinding, since: Instant)] {
        var next: [AlertSubject: Suspicion] = [:]
        for finding in findings {
            var suspicion =
                suspicions[finding.subject] ?? Suspicion(since: now, observations: 0)
            suspicion.observations += 1
            next[finding.subject] = suspicion
        }
        suspicions = next
        return findings.compactMap { finding in
            guard let suspicion = next[finding.subject],
                suspicion.observations >= Self.observationsBeforeAlert
            else { return nil }
            return (finding, suspicion.since)
        }
    }

    /// The open alerts that no server has seen to need attention for ``wellAfter``. Only this
    /// server's clock counts: the clocks of two servers may differ by more than that. An alert that
    /// was open before this process began also waits for so long.
    package mutating func quiet(_ open: [OpenAlert], at now: Instant) -> [OpenAlert] {
        var next: [AlertSubject: Sighting] = [:]
        for alert in open {
            let known = sightings[alert.subject].flatMap {
                $0.seenAt == alert.seenAt ? $0 : nil
            }
            next[alert.subject] = known ?? Sighting(seenAt: alert.seenAt, since: now)
        }
        sightings = next
        return open.filter { alert in
            next[alert.subject].map { now - $0.since >= Self.wellAfter } ?? false
        }
    }
}

/// Whether the database fails. While it does, nothing can be read from it or stored in it, so each
/// server decides and remembers this alone.
package struct DatabaseWatch: Hashable, Sendable {
    /// What is to be sent now.
    package enum Turn: Hashable, Sendable {
        case none
        /// The database fails: to be sent by the channels that have not sent it.
        case bad(since: Instant)
        /// It is well again: to be sent by the channels that have sent that it fails.
        case well(since: Instant, Set<AlertChannel>)
    }

    private var failingSince: Instant?
    private var seenAt: Instant?
    private var observations = 0
    /// The channels by which the present failure was reported.
    package private(set) var reported: Set<AlertChannel> = []

    package init() {}

    package mutating func add(isReady: Bool, at now: Instant) -> Turn {
        guard !isReady else { return recovered(at: now) }
        let since = failingSince ?? now
        (failingSince, seenAt) = (since, now)
        observations += 1
        return observations >= AlertWatch.observationsBeforeAlert ? .bad(since: since) : .none
    }

    private mutating func recovered(at now: Instant) -> Turn {
        guard let since = failingSince, let seenAt else { return .none }
        guard !reported.isEmpty else {
            self = Self()
            return .none
        }
        guard now - seenAt >= AlertWatch.wellAfter else { return .none }
        defer { self = Self() }
        return .well(since: since, reported)
    }

    package mutating func recordReport(by channel: AlertChannel) { reported.insert(channel) }
}
