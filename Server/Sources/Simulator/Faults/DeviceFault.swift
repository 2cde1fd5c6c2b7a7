/// Deviations of devices from StoreKit's documentation that were observed.
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
        case .expiredAtRenewal: "Statuses are expired, with renewal on."
        case .lapsedAtRenewal: "Statuses are expired with renewal off, and nothing is listed."
        case .unlistedAfterPurchase: "The latest transaction is not listed yet."
        case .emptyRead: "A list is empty, as after a task that was cancelled."
        case .newestFirst: "Transactions come newest first."
        case .latestTwice: "The latest transaction comes twice, with two signatures."
        case .listedInRetry: "A subscription in billing retry is listed as an entitlement."
        case .heldTransaction: "A purchase returns a transaction that the device already had."
        case .finishedAgain:
            "The first transaction of a subscription is unfinished again, though it was finished."
        case .stickyEligibility:
            "Eligibility for the introductory offer keeps its first value."
        case .forged, .truncated, .wrongApp, .wrongEnvironment: defect?.summary ?? ""
        }
    }
}
