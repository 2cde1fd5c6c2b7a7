import Synchronization

/// Counts of events since the process started.
final class Counters: Sendable {
    final class Counter: Sendable {
        private let value = Atomic<Int>(0)

        func add() { value.add(1, ordering: .relaxed) }
        var count: Int { value.load(ordering: .relaxed) }
    }

    let notificationsRecorded = Counter()
    let notificationsRepeated = Counter()
    let notificationsRefused = Counter()
    let notificationsAcceptedElsewhere = Counter()
    let notificationsBackfilled = Counter()
    let historyPages = Counter()
    let documentsSignedAhead = Counter()
    let purchasesPosted = Counter()
    let customersRead = Counter()
    let checksResponded = Counter()
    let checksFailed = Counter()
    let forwardsAccepted = Counter()
    let forwardsFailed = Counter()
    let forwardsOmitted = Counter()
}

package struct EngineCounts: Hashable, Sendable {
    package var notificationsRecorded: Int
    package var notificationsRepeated: Int
    package var notificationsRefused: Int
    package var notificationsAcceptedElsewhere: Int
    /// Missed notifications that were found by requesting them from the App Store.
    package var notificationsBackfilled: Int
    /// Pages of the App Store's notification history that were read to find missing notifications.
    package var historyPages: Int
    /// Documents that could not be verified yet because they were signed later than our clock's
    /// time.
    package var documentsSignedAhead: Int
    package var purchasesPosted: Int
    package var customersRead: Int
    package var checksResponded: Int
    package var checksFailed: Int
    package var forwardsAccepted: Int
    package var forwardsFailed: Int
    package var forwardsOmitted: Int
}

extension Engine {
    package var counts: EngineCounts {
        EngineCounts(
            notificationsRecorded: counters.notificationsRecorded.count,
            notificationsRepeated: counters.notificationsRepeated.count,
            notificationsRefused: counters.notificationsRefused.count,
            notificationsAcceptedElsewhere: counters.notificationsAcceptedElsewhere.count,
            notificationsBackfilled: counters.notificationsBackfilled.count,
            historyPages: counters.historyPages.count,
            documentsSignedAhead: counters.documentsSignedAhead.count,
            purchasesPosted: counters.purchasesPosted.count,
            customersRead: counters.customersRead.count,
            checksResponded: counters.checksResponded.count,
            checksFailed: counters.checksFailed.count,
            forwardsAccepted: counters.forwardsAccepted.count,
            forwardsFailed: counters.forwardsFailed.count,
            forwardsOmitted: counters.forwardsOmitted.count)
    }
}
