import AppStoreFormats

/// The form of version 1 notifications in a year. Apple changed the form twice, and added types
/// several times.
package enum V1Era: String, Hashable, Sendable, CaseIterable {
    /// The form of 2018: the latest transaction as a receipt in the form before iOS 7.
    case year2018 = "2018"
    /// The form of 2020: the latest transaction as in 2018, and the unified receipt.
    case year2020 = "2020"
    /// The form since 10 March 2021: only the unified receipt.
    case year2021 = "2021"

    var hasLatestTransaction: Bool { self != .year2021 }

    var hasUnifiedReceipt: Bool { self != .year2018 }

    /// The types that were sent in the era. The types of 2018 are those of notifications published
    /// in that year; no notification was sent for a renewal on time.
    var types: Set<V1NotificationType> {
        let first: Set<V1NotificationType> = [
            .initialBuy, .cancel, .renewal, .interactiveRenewal, .didChangeRenewalPref,
        ]
        let second: Set<V1NotificationType> = [
            .didChangeRenewalStatus, .didFailToRenew, .didRecover, .didRenew,
            .priceIncreaseConsent, .refund,
        ]
        switch self {
        case .year2018: return first
        case .year2020: return first.union(second)
        case .year2021:
            return first.union(second).union([.revoke, .consumptionRequest]).subtracting([.renewal])
        }
    }

    /// The types that the sandbox sends, and only to the purchaser.
    static let sandboxTypes: Set<V1NotificationType> = [
        .initialBuy, .didChangeRenewalPref, .didChangeRenewalStatus, .didRenew,
        .interactiveRenewal, .cancel, .refund,
    ]

    /// The types that are sent about a family member's shared purchase.
    static let familyTypes: Set<V1NotificationType> = [
        .didChangeRenewalPref, .didChangeRenewalStatus, .didFailToRenew, .didRecover, .didRenew,
        .interactiveRenewal, .revoke,
    ]
}
