import AppStoreClient
import Storage
import Synchronization

/// Counts of events since the process started.
package final class Counters: Sendable {
    package final class Counter: Sendable {
        private let value = Atomic<Int>(0)

        func add() { value.add(1, ordering: .relaxed) }
        fileprivate var count: Int { value.load(ordering: .relaxed) }
    }

    package let notificationsRecorded = Counter()
    package let notificationsRepeated = Counter()
    package let notificationsRefused = Counter()
    package let notificationsAcceptedElsewhere = Counter()
    /// Missed notifications that were found by requesting them from the App Store.
    package let notificationsBackfilled = Counter()
    /// The missed notifications that were found by walks through the history, except the first
    /// walk. This server should have received these notifications. The first walk also finds
    /// notifications from before this server had the address, so it is not counted.
    package let notificationsLost = Counter()
    /// Pages of the App Store's notification history that were read in the search for missing
    /// notifications.
    package let historyPages = Counter()
    /// Documents that could not be verified yet because they were signed later than the present
    /// time of this server's clock.
    package let documentsSignedAhead = Counter()
    package let purchasesPosted = Counter()
    package let customersRead = Counter()
    package let checksResponded = Counter()
    package let checksFailed = Counter()
    package let forwardsAccepted = Counter()
    package let forwardsFailed = Counter()
    package let forwardsOmitted = Counter()
    package let webhooksDelivered = Counter()
    /// Attempts to post to webhooks that failed and are repeated.
    package let webhooksRetried = Counter()
    /// Deliveries to webhooks that failed for the last time.
    package let webhooksFailed = Counter()
    package let alertsSent = Counter()
    /// Attempts to send an alert that failed.
    package let alertsFailed = Counter()
    /// Alerts that were deleted because they could not be sent in time.
    package let alertsGivenUp = Counter()
    /// Requests for which the App Store did not accept our key.
    package let appStoreKeyRefused = Counter()
    /// Requests that the App Store, or our own rate limit, postponed.
    package let appStorePaused = Counter()
    package let appStoreUnavailable = Counter()
    /// Responses of the App Store that were not what the request expects.
    package let appStoreUnreadable = Counter()
    package let databaseBusy = Counter()
    /// Transactions that failed because other transactions interfered with every attempt.
    package let databaseConflicts = Counter()
    package let databaseUnavailable = Counter()
    package let databaseOther = Counter()

    /// Counts a failed request to the App Store. A response that the request expects is not a
    /// failure.
    func add(_ failure: AppStoreFailure) {
        switch failure {
        case .unknownID, .refused: break
        case .unauthorized: appStoreKeyRefused.add()
        case .rateLimited: appStorePaused.add()
        case .unavailable: appStoreUnavailable.add()
        case .unreadable: appStoreUnreadable.add()
        }
    }

    /// Counts an error if it is a failure of the database.
    func add(databaseFailure error: any Error) {
        guard let failure = error as? StorageFailure else { return }
        switch failure.kind {
        case .constraint, .erased, .needsSerializable: break
        case .busy: databaseBusy.add()
        case .conflict: databaseConflicts.add()
        case .unavailable: databaseUnavailable.add()
        case .other: databaseOther.add()
        }
    }
}

/// The current values of the counters, under the counters' names.
@dynamicMemberLookup
package struct EngineCounts: Sendable {
    fileprivate let counters: Counters

    package subscript(dynamicMember counter: KeyPath<Counters, Counters.Counter>) -> Int {
        counters[keyPath: counter].count
    }
}

extension Engine {
    package var counts: EngineCounts { EngineCounts(counters: context.counters) }
}
