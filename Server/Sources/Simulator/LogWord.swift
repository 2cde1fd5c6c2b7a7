/// What an entry of the log is about: its member `what`. docs/simulator.md explains each word.
enum LogWord: String, Hashable, Sendable, CaseIterable {
    /// Any call over HTTP.
    case request
    /// A call of Apple's API, or of verifyReceipt.
    case call
    case notification
    case v1Notification = "v1-notification"
    /// An attempt to post one.
    case delivery
    case fault
    /// A step of a story.
    case scenario
    case refusedToken = "refused_token"
    case refusedChange = "refused_change"
    /// The simulator itself has failed.
    case trouble
}
