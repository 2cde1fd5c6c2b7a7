/// Something that can go wrong in a trial. Each is absent from many trials, so that no fault hides
/// what another brings to light.
package enum FaultFamily: String, Hashable, Sendable, Comparable, CaseIterable {
    // Notifications.
    case lostNotifications = "lost-notifications"
    case repeatedNotifications = "repeated-notifications"
    case lateNotifications = "late-notifications"
    case overtakenNotifications = "overtaken-notifications"
    case otherTransactionIDs = "other-transaction-ids"
    case unknownWords = "unknown-words"
    case brokenBodies = "broken-bodies"
    case forgeries
    case notificationOutage = "notification-outage"
    case habits
    // The App Store Server API.
    case refusedTokens = "refused-tokens"
    case absentIDs = "absent-ids"
    case rateLimits = "rate-limits"
    case brokenAnswers = "broken-answers"
    case lateAnswers = "late-answers"
    case staleAnswers = "stale-answers"
    case spentPages = "spent-pages"
    case apiOutage = "api-outage"
    case silentHistory = "silent-history"
    // Devices.
    case lostPosts = "lost-posts"
    case repeatedPosts = "repeated-posts"
    case latePosts = "late-posts"
    case oddDevices = "odd-devices"
    // Our servers.
    case crashes
    case downtime
    case skew
    case secondServer = "second-server"
    case races
    // Added later. They stand last, so that they move no other draw of a seed.
    case bothEnvironments = "both-environments"
    case erasures
    case swallowedNotifications = "swallowed-notifications"

    package static func < (one: Self, other: Self) -> Bool { one.rawValue < other.rawValue }

    /// What happens, in one sentence.
    package var summary: String {
        switch self {
        case .lostNotifications: "Notifications are never sent; in some trials none is."
        case .repeatedNotifications: "Notifications come twice, or six times at once."
        case .lateNotifications: "Notifications come up to 157 hours late."
        case .overtakenNotifications: "A notification comes after the one that follows it."
        case .otherTransactionIDs: "A renewal is told under another transaction id of one order."
        case .unknownWords: "Types, subtypes, statuses, offers and fields that nobody knows."
        case .brokenBodies: "The first attempt of a notification ends in the middle."
        case .forgeries: "Documents come that are forged, tampered with, or for another app."
        case .notificationOutage: "For up to eight days no notification is sent."
        case .habits: "Apple does otherwise than documented, in some of the known ways."
        case .refusedTokens: "The API answers 401."
        case .absentIDs: "The API answers 404 for ids that exist."
        case .rateLimits: "The API answers 429."
        case .brokenAnswers: "The API answers 500."
        case .lateAnswers: "The API's answer comes after nobody waits for it any more."
        case .staleAnswers: "The API answers as things stood up to three days ago."
        case .spentPages: "The token of a page has expired."
        case .apiOutage: "For up to eight days the API does not answer."
        case .silentHistory: "The history of notifications never shows what was lost."
        case .lostPosts: "The app's posting of a purchase never arrives."
        case .repeatedPosts: "The app posts the same again."
        case .latePosts: "The app posts a purchase hours or weeks later."
        case .oddDevices: "StoreKit shows a device what it was measured to show against its word."
        case .crashes: "A server dies between two steps: before a commit, after it, at a question."
        case .downtime: "Servers are down for up to nine days: longer than Apple's attempts."
        case .skew: "A server's clock is minutes ahead or behind."
        case .secondServer: "Two servers work on one database."
        case .bothEnvironments: "One customer has purchases in production and in the sandbox."
        case .erasures: "Customers have themselves erased, and come back."
        case .races: "The other server acts between any two steps of a server."
        case .swallowedNotifications:
            "Something before the server answers a notification with 200, and loses it."
        }
    }
}
