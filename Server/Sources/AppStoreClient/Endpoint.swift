import AppStoreFormats

/// A call of the App Store Server API, or of the App Store Connect API for its reports: its method
/// and its rate limit.
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
    case claimSeat = "claim_seat"
    case unclaimSeat = "unclaim_seat"
    case seatInfo = "seat_info"
    case salesReport = "sales_report"
    case financeReport = "finance_report"

    package var description: String { rawValue }

    var method: String {
        switch self {
        case .transaction, .statuses, .history, .order, .testStatus, .seatInfo, .salesReport,
            .financeReport:
            "GET"
        case .notificationHistory, .testRequest, .claimSeat: "POST"
        case .consumption, .renewalExtension: "PUT"
        case .unclaimSeat: "DELETE"
        }
    }

    /// The number of requests per second that Apple allows an app in production ("Identifying rate
    /// limits"). The sandbox allows a tenth of it.
    var allowedPerSecond: Int64 {
        switch self {
        case .transaction, .statuses, .history, .notificationHistory, .consumption: 50
        case .renewalExtension: 20
        // Apple does not document a limit for seats.
        case .claimSeat, .unclaimSeat, .seatInfo: 20
        case .order: 10
        // Apple allows a key 3,600 requests an hour ("Identifying rate limits").
        case .testRequest, .testStatus, .salesReport, .financeReport: 1
        }
    }

    /// The budget of this call: four fifths of what Apple allows. The rest is left for others that
    /// use the same app, such as a second server or a script.
    package func budget(in environment: StoreEnvironment) -> CallBudget {
        let tenth: Int64 = environment == .production ? 1 : 10
        return CallBudget(
            millisecondsPerCall: (1250 * tenth + allowedPerSecond - 1) / allowedPerSecond,
            burst: max(1, allowedPerSecond / (5 * tenth)))
    }
}

/// How often a call may be made: a burst after a pause, and then one call per interval.
package struct CallBudget: Hashable, Sendable {
    package let millisecondsPerCall: Int64
    package let burst: Int64

    package init(millisecondsPerCall: Int64, burst: Int64) {
        precondition(millisecondsPerCall > 0 && burst > 0, "a budget must allow at least one call")
        self.millisecondsPerCall = millisecondsPerCall
        self.burst = burst
    }
}
