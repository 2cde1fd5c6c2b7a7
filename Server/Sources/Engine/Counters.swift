import Synchronization

/// Counts of events since the process started.
final class Counters: Sendable {
    final class Counter: Sendable {
        private let value = Atomic<Int>(0)

        func add() { value.add(1, ordering: .relaxed) }
        var count: Int { value.load(ordering: .relaxed) }
    }

    let notificationsKept = Counter()
    let notificationsRepeated = Counter()
    let notificationsRefused = Counter()
    let notificationsLeftToOthers = Counter()
    let notificationsFound = Counter()
    let historyPages = Counter()
    let documentsSignedAhead = Counter()
    let purchasesPosted = Counter()
    let customersAnswered = Counter()
    let checksAnswered = Counter()
    let checksFailed = Counter()
    let forwardsAccepted = Counter()
    let forwardsFailed = Counter()
    let forwardsLeftOut = Counter()
}

package struct EngineCounts: Hashable, Sendable {
    package var notificationsKept: Int
    package var notificationsRepeated: Int
    package var notificationsRefused: Int
    package var notificationsLeftToOthers: Int
    /// Missed notifications that were found by requesting them from the App Store.
    package var notificationsFound: Int
    /// Pages of the App Store's notification history that were read to find missing notifications.
    package var historyPages: Int
    /// Documents that could not be verified yet because they were signed later than our clock's
    /// time.
    package var documentsSignedAhead: Int
    package var purchasesPosted: Int
    package var customersAnswered: Int
    package var checksAnswered: Int
    package var checksFailed: Int
    package var forwardsAccepted: Int
    package var forwardsFailed: Int
    package var forwardsLeftOut: Int
}

extension Engine {
    package var counts: EngineCounts {
        EngineCounts(
            notificationsKept: counters.notificationsKept.count,
            notificationsRepeated: counters.notificationsRepeated.count,
            notificationsRefused: counters.notificationsRefused.count,
            notificationsLeftToOthers: counters.notificationsLeftToOthers.count,
            notificationsFound: counters.notificationsFound.count,
            historyPages: counters.historyPages.count,
            documentsSignedAhead: counters.documentsSignedAhead.count,
            purchasesPosted: counters.purchasesPosted.count,
            customersAnswered: counters.customersAnswered.count,
            checksAnswered: counters.checksAnswered.count,
            checksFailed: counters.checksFailed.count,
            forwardsAccepted: counters.forwardsAccepted.count,
            forwardsFailed: counters.forwardsFailed.count,
            forwardsLeftOut: counters.forwardsLeftOut.count)
    }
}
