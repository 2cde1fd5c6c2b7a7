/// The kind of a log entry: its member `what`. docs/simulator.md explains each one.
enum LogEntryKind: String, Hashable, Sendable, CaseIterable {
    /// Any HTTP request.
    case request
    /// A call to Apple's API or to verifyReceipt.
    case call
    case notification
    case v1Notification = "v1-notification"
    /// An attempt to post a notification.
    case delivery
    case fault
    /// A step of a scenario.
    case scenario
    case refusedToken = "refused_token"
    case refusedChange = "refused_change"
    /// The simulator itself has failed.
    case trouble
}
