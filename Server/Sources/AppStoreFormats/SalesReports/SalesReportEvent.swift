/// An event of a subscription, as subscription event reports name it. The names are those of App
/// Store Connect Help ("Subscription events") and of files. Apple may add names.
package struct SalesReportEvent: OpenEnumeration {
    package let rawValue: String
    package init(rawValue: String) { self.rawValue = rawValue }

    package static let startIntroductoryOffer = Self(rawValue: "Start Introductory Offer")
    package static let startPromotionalOffer = Self(rawValue: "Start Promotional Offer")
    package static let startOfferCode = Self(rawValue: "Start Offer Code")
    package static let subscribe = Self(rawValue: "Subscribe")
    package static let optIn = Self(rawValue: "Opt-In")
    package static let renew = Self(rawValue: "Renew")
    package static let renewalFromBillingRetry = Self(rawValue: "Renewal from Billing Retry")
    package static let renewalFromGracePeriod = Self(rawValue: "Renewal from Grace Period")
    package static let cancel = Self(rawValue: "Cancel")
    package static let canceledFromBillingRetry = Self(rawValue: "Canceled from Billing Retry")
    /// The subscription ended in its grace period. Apple's Help writes
    /// `Canceled from Billing Grace Period`.
    package static let canceledFromGracePeriod = Self(rawValue: "Canceled from Grace Period")
    package static let canceledAfterRenewalExtension = Self(
        rawValue: "Canceled after Renewal Extension")
    package static let billingRetryFromPaidSubscription = Self(
        rawValue: "Billing Retry from Paid Subscription")
    package static let billingRetryFromIntroductoryOffer = Self(
        rawValue: "Billing Retry from Introductory Offer")
    package static let gracePeriodFromPaidSubscription = Self(
        rawValue: "Grace Period from Paid Subscription")
    package static let gracePeriodFromIntroductoryOffer = Self(
        rawValue: "Grace Period from Introductory Offer")
    package static let paidSubscriptionFromIntroductoryOffer = Self(
        rawValue: "Paid Subscription from Introductory Offer")
    package static let paidSubscriptionFromPromotionalOffer = Self(
        rawValue: "Paid Subscription from Promotional Offer")
    package static let paidSubscriptionFromOfferCode = Self(
        rawValue: "Paid Subscription from Offer Code")
    package static let paidSubscriptionFromWinBackOffer = Self(
        rawValue: "Paid Subscription from Win-Back Offer")
    package static let upgrade = Self(rawValue: "Upgrade")
    package static let downgrade = Self(rawValue: "Downgrade")
    package static let crossgrade = Self(rawValue: "Crossgrade")
    package static let reactivate = Self(rawValue: "Reactivate")
    package static let refund = Self(rawValue: "Refund")

    /// The families of events.
    package enum Family: Hashable, Sendable, CaseIterable {
        /// A subscription began, with or without an offer.
        case start
        case renewal
        /// A paid subscription followed an offer.
        case conversion
        /// The subscription changed from another state, such as a paid period, to an offer.
        case offer
        case cancellation
        case billingRetry
        case gracePeriod
        case upgrade
        case downgrade
        case crossgrade
        case reactivation
        case refund
        /// A renewal date was extended.
        case renewalExtension
    }

    /// The beginnings of the names in each family, in lower case. The first beginning that matches
    /// counts.
    private static let beginnings: [(String, Family)] = [
        ("start ", .start), ("subscribe", .start), ("opt-in", .start),
        ("renewal extension", .renewalExtension), ("renew", .renewal),
        ("paid subscription from", .conversion), ("cancel", .cancellation),
        ("billing retry from", .billingRetry), ("grace period from", .gracePeriod),
        ("billing grace period from", .gracePeriod), ("upgrade", .upgrade),
        ("downgrade", .downgrade), ("crossgrade", .crossgrade), ("reactivat", .reactivation),
        ("refund", .refund), ("introductory offer from", .offer),
        ("introductory price from", .offer), ("promotional offer from", .offer),
        ("offer code from", .offer), ("win-back offer from", .offer),
    ]

    /// The family of the event, by the beginning of its name. Returns nil for a name of no known
    /// family.
    package var family: Family? {
        let name = rawValue.lowercased()
        return Self.beginnings.first { name.hasPrefix($0.0) }?.1
    }
}
