import Ledger

/// Counts how often something was reached, by name. A run of trials says nothing about cases that
/// it never reached.
package struct Tally: Hashable, Sendable {
    package private(set) var counts: [String: Int] = [:]

    package init() {}

    package subscript(_ name: String) -> Int { counts[name] ?? 0 }

    mutating func add(_ name: String, _ count: Int = 1) {
        if count > 0 { counts[name, default: 0] += count }
    }

    mutating func add(_ other: Tally) { counts.merge(other.counts) { $0 + $1 } }
}

/// A promise that was not kept.
package struct Violation: Error, Hashable, Sendable, CustomStringConvertible {
    /// The name of the oracle that found the violation.
    package let oracle: String
    package let message: String

    package var description: String { "\(oracle): \(message)" }
}

extension Violation {
    /// - Parameter now: in milliseconds since 1970.
    init(_ oracle: String, at now: Int64, _ words: String) {
        self.init(oracle: oracle, message: "at \(Instant(milliseconds: now)): \(words)")
    }
}

/// The statistics of one trial, or of many.
package struct Statistics: Hashable, Sendable {
    package init() {}

    package var trials = 0
    package var virtualMilliseconds: Int64 = 0
    package var notifications = 0
    package var documents = 0
    package var events = 0
    /// The number of requests about purchases, without the first request about each purchase.
    package var questions = 0
    /// Requests in trials without faults, and the periods paid in those trials.
    package var calmQuestions = 0
    package var calmPeriods = 0
    package var crashes = 0
    package var looks = 0

    mutating func add(_ other: Statistics) {
        trials += other.trials
        virtualMilliseconds += other.virtualMilliseconds
        notifications += other.notifications
        documents += other.documents
        events += other.events
        questions += other.questions
        calmQuestions += other.calmQuestions
        calmPeriods += other.calmPeriods
        crashes += other.crashes
        looks += other.looks
    }
}

/// The result of a trial.
package struct TrialReport: Sendable {
    package let plan: Plan
    /// The first promise that was not kept.
    package var violation: Violation?
    /// The server's explanation of its answers at the time of the violation: lines of text.
    package var explanation: [String] = []
    package var tally = Tally()
    package var statistics = Statistics()
    /// A digest of all events in order. The digest is the same each time the trial is played.
    package var digest: UInt64 { events.digest }
    private(set) var events = FNV1a()

    /// The last events, as text.
    package private(set) var story: [String] = []

    /// The number of lines of a story; at most twice as many are stored.
    package static let storyMax = 60

    mutating func log(_ event: String, at now: Int64) {
        events.add(event)
        events.add(UInt64(bitPattern: now))
        if story.count >= 2 * Self.storyMax { story.removeFirst(Self.storyMax) }
        story.append("\(Instant(milliseconds: now))  \(event)")
    }
}
