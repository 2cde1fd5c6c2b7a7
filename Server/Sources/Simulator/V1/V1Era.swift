import AppStoreFormats

/// What V1 notifications were like in a year: Apple changed their form twice, and kept adding
/// types.
package enum V1Era: String, Hashable, Sendable, CaseIterable {
    /// The latest transaction, as a receipt of before iOS 7.
    case year2018 = "2018"
    /// The same, and the unified receipt beside it.
    case year2020 = "2020"
    /// Since 10 March 2021: the unified receipt alone.
    case year2021 = "2021"

    var hasLatestTransaction: Bool { self != .year2021 }

    var hasUnifiedReceipt: Bool { self != .year2018 }

    /// The types that were sent then. Those of 2018 are the ones of that year's published
    /// notifications; of a subscription that renewed on time nothing was heard.
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

    /// What the sandbox sends of them, and to the purchaser alone.
    static let sandboxTypes: Set<V1NotificationType> = [
        .initialBuy, .didChangeRenewalPref, .didChangeRenewalStatus, .didRenew,
        .interactiveRenewal, .cancel, .refund,
    ]

    /// What is sent about members of a family.
    static let familyTypes: Set<V1NotificationType> = [
        .didChangeRenewalPref, .didChangeRenewalStatus, .didFailToRenew, .didRecover, .didRenew,
        .interactiveRenewal, .revoke,
    ]
}
