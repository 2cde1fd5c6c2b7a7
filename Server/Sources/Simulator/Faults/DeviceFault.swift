/// How devices were measured to differ from what StoreKit's documentation says.
package enum DeviceFault: String, FaultKind {
    case expiredAtRenewal = "expired_at_renewal"
    case lapsedAtRenewal = "lapsed_at_renewal"
    case unlistedAfterPurchase = "unlisted_after_purchase"
    case emptyRead = "empty_read"
    case newestFirst = "newest_first"
    case latestTwice = "latest_twice"
    case listedInRetry = "listed_in_retry"
    case heldTransaction = "held_transaction"
    case finishedAgain = "finished_again"
    case stickyEligibility = "sticky_eligibility"
    case forged
    case truncated
    case wrongApp = "wrong_app"
    case wrongEnvironment = "wrong_environment"

    package var summary: String {
        switch self {
        case .expiredAtRenewal: "The statuses are expired, with renewal on."
        case .lapsedAtRenewal: "The statuses are expired with renewal off, and nothing is listed."
        case .unlistedAfterPurchase: "The latest transaction is not listed yet."
        case .emptyRead: "A list is empty, as after a task that was cancelled."
        case .newestFirst: "Transactions come newest first."
        case .latestTwice: "The latest transaction comes twice, with two signatures."
        case .listedInRetry: "What is in billing retry is listed as an entitlement."
        case .heldTransaction: "A purchase answers with the transaction already held."
        case .finishedAgain:
            "The first transaction of a subscription is unfinished again, though it was finished."
        case .stickyEligibility:
            "Whether the introductory offer may be had is what the device was told first."
        case .forged, .truncated, .wrongApp, .wrongEnvironment: spoilage?.summary ?? ""
        }
    }
}
