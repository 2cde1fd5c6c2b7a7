/// A kind of fault that can occur in a trial. Each kind is absent from many trials, so that no
/// fault hides a bug that another fault reveals.
package enum FaultFamily: String, Hashable, Sendable, Comparable, CaseIterable {
    // Notifications.
    case lostNotifications = "lost-notifications"
    case repeatedNotifications = "repeated-notifications"
    case lateNotifications = "late-notifications"
    case reorderedNotifications = "overtaken-notifications"
    case otherTransactionIDs = "other-transaction-ids"
    case unknownValues = "unknown-words"
    case truncatedBodies = "broken-bodies"
    case forgeries
    case notificationOutage = "notification-outage"
    case habits
    // The App Store Server API.
    case rejectedTokens = "refused-tokens"
    case notFoundResponses = "absent-ids"
    case rateLimits = "rate-limits"
    case serverErrors = "broken-answers"
    case slowResponses = "late-answers"
    case staleResponses = "stale-answers"
    case expiredPageTokens = "spent-pages"
    case apiOutage = "api-outage"
    case incompleteHistory = "silent-history"
    // Devices.
    case lostPosts = "lost-posts"
    case repeatedPosts = "repeated-posts"
    case latePosts = "late-posts"
    case deviceQuirks = "odd-devices"
    // Our servers.
    case crashes
    case downtime
    case skew
    case secondServer = "second-server"
    case races
    // These faults were added later. They are listed last, so that other random values of a seed do
    // not change.
    case bothEnvironments = "both-environments"
    case erasures
    case swallowedNotifications = "swallowed-notifications"
    case intents
    case anonymousDevices = "anonymous-devices"
    case thieves
    case unlistedProducts = "unlisted-products"
    case groups

    /// The families without odds in ``Plan/arm(_:)``, because they were added later.
    static let withoutOdds: Set<Self> = [
        .swallowedNotifications, .intents, .anonymousDevices, .thieves,
        .unlistedProducts, .groups,
    ]

    package static func < (one: Self, other: Self) -> Bool { one.rawValue < other.rawValue }

    /// Describes the fault in one sentence.
    package var summary: String {
        switch self {
        case .lostNotifications: "Notifications are lost; in some trials all of them."
        case .repeatedNotifications: "Notifications arrive twice, or six times at once."
        case .lateNotifications: "Notifications arrive up to 157 hours late."
        case .reorderedNotifications: "A notification arrives after a later one."
        case .otherTransactionIDs:
            "A renewal of one order is reported under another transaction id."
        case .unknownValues:
            "Documents contain unknown types, subtypes, statuses, offers and fields."
        case .truncatedBodies: "The body of a notification's first attempt is truncated."
        case .forgeries: "Documents arrive that are forged, tampered with, or for another app."
        case .notificationOutage: "For up to eight days no notification is sent."
        case .habits: "Apple deviates from its documentation, in some of the known ways."
        case .rejectedTokens: "The API responds 401."
        case .notFoundResponses: "The API responds 404 for ids that exist."
        case .rateLimits: "The API responds 429."
        case .serverErrors: "The API responds 500."
        case .slowResponses: "The API's response arrives after the client has timed out."
        case .staleResponses: "The API's response is up to three days old."
        case .expiredPageTokens: "The token of a history page has expired."
        case .apiOutage: "For up to eight days the API does not respond."
        case .incompleteHistory: "The notification history never contains lost notifications."
        case .lostPosts: "The app's request with a purchase never arrives."
        case .repeatedPosts: "The app posts the same purchase again."
        case .latePosts: "The app posts a purchase hours or weeks later."
        case .deviceQuirks: "StoreKit deviates from its documentation, in ways measured on devices."
        case .crashes: "A server crashes before a commit, after it, or during a request."
        case .downtime: "Servers are down for up to nine days, longer than Apple retries."
        case .skew: "A server's clock is minutes ahead or behind."
        case .secondServer: "Two servers work on one database."
        case .bothEnvironments: "One customer has purchases in production and in the sandbox."
        case .erasures: "Customers are erased at their request, and return."
        case .races: "The other server acts between any two steps of a server."
        case .swallowedNotifications:
            "A proxy responds 200 to a notification, and loses it."
        case .intents:
            "Apps say why they post, and a forged document is among those posted."
        case .anonymousDevices:
            "No customer signs in, and another device of the account posts the same purchases."
        case .thieves:
            "Somebody with the app key and copied documents claims ids and purchases of others."
        case .unlistedProducts:
            "The configuration does not list a product that customers buy."
        case .groups:
            "Subscriptions are sold in seats; members join and leave, organizations assign seats."
        }
    }
}
