import AppStoreFormats

/// A call of the App Store Server API: how it is made, and how often it may be.
package enum Endpoint: String, CaseIterable, Hashable, Sendable, CustomStringConvertible {
    case transaction
    case statuses
    case history
    case order
    case notificationHistory = "notification_history"
    case testRequest = "test_request"
    case testStatus = "test_status"
    case consumption
    case renewalExtension = "extension"

    package var description: String { rawValue }

    var method: String {
        switch self {
        case .transaction, .statuses, .history, .order, .testStatus: "GET"
        case .notificationHistory, .testRequest: "POST"
        case .consumption, .renewalExtension: "PUT"
        }
    }

    /// Requests in a second that Apple allows an app in production ("Identifying rate limits").
    /// The sandbox allows a tenth.
    var allowedPerSecond: Int64 {
        switch self {
        case .transaction, .statuses, .history, .notificationHistory, .consumption: 50
        case .renewalExtension: 20
        case .order: 10
        case .testRequest, .testStatus: 1
        }
    }

    /// Four fifths of what Apple allows, so that there is room for others with the same app: a
    /// second server, or somebody's script.
    package func budget(in environment: StoreEnvironment) -> CallBudget {
        let tenth: Int64 = environment == .production ? 1 : 10
        return CallBudget(
            millisecondsPerCall: (1250 * tenth + allowedPerSecond - 1) / allowedPerSecond,
            burst: max(1, allowedPerSecond / (5 * tenth)))
    }
}

/// How often a call may be made: so many at once after a rest, and then one in so many
/// milliseconds.
package struct CallBudget: Hashable, Sendable {
    package let millisecondsPerCall: Int64
    package let burst: Int64

    package init(millisecondsPerCall: Int64, burst: Int64) {
        precondition(millisecondsPerCall > 0 && burst > 0, "A budget lets some call through.")
        self.millisecondsPerCall = millisecondsPerCall
        self.burst = burst
    }
}
