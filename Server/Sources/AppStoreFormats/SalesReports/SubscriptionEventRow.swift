/// A row of the subscription event report (SUBSCRIPTION_EVENT): how many times something happened
/// to subscriptions that are equal in all columns. A file of one day also contains rows of adjacent
/// days.
package struct SubscriptionEventRow: SalesReportRow {
    package var eventDate = CivilDate(year: 1970, month: 1, day: 1)
    package var event = SalesReportEvent(rawValue: "")
    package var appName = ""
    package var appAppleID: Int64 = 0
    package var subscriptionName = ""
    package var subscriptionAppleID: Int64 = 0
    package var subscriptionGroupID: Int64 = 0
    package var standardDuration: SalesReportDuration?
    package var offerName = ""
    package var promotionalOfferID = ""
    package var offerType: SalesReportOffer?
    package var offerDuration: SalesReportDuration?
    package var isMarketingOptIn = false
    package var marketingOptInDuration: SalesReportDuration?
    package var isPricePreserved = false
    package var proceedsReason: SalesReportProceedsReason?
    package var consecutivePaidPeriods: Int64 = 0
    package var originalStartDate: CivilDate?
    package var client = ""
    package var device: SalesReportDevice?
    package var state = ""
    package var country = ""
    package var previousSubscriptionName = ""
    package var previousSubscriptionAppleID: Int64?
    package var daysBeforeCanceling: Int64?
    package var cancellationReason: SalesReportCancellationReason?
    package var daysCanceled: Int64?
    package var quantity: Int64 = 0
    /// The days from the end of the paid period to the payment in the grace period. Nil before
    /// version 1_3.
    package var paidServiceDaysRecovered: Int64?

    package init() {}

    package var isRefund: Bool { event.family == .refund }
    package var isRenewal: Bool { event.family == .renewal }
    package var isCancellation: Bool { event.family == .cancellation }

    // MARK: - Columns

    package static var kind: SalesReportKind { .subscriptionEvent }

    package static let columns: [SalesReportColumn<Self>] = [
        .day("Event Date", \.eventDate), .word("Event", \.event), .text("App Name", \.appName),
        .identifier("App Apple ID", \.appAppleID),
        .text("Subscription Name", \.subscriptionName),
        .identifier("Subscription Apple ID", \.subscriptionAppleID),
        .identifier("Subscription Group ID", \.subscriptionGroupID),
        .word("Standard Subscription Duration", \.standardDuration),
        .text("Subscription Offer Name", \.offerName).named(also: "Promotional Offer Name").spaced,
        .text("Promotional Offer ID", \.promotionalOfferID).spaced,
        .word("Subscription Offer Type", \.offerType),
        .word("Subscription Offer Duration", \.offerDuration),
        .flag("Marketing Opt-In", \.isMarketingOptIn),
        .word("Marketing Opt-In Duration", \.marketingOptInDuration).spaced,
        .flag("Preserved Pricing", \.isPricePreserved),
        .word("Proceeds Reason", \.proceedsReason),
        .count("Consecutive Paid Periods", \.consecutivePaidPeriods),
        .day("Original Start Date", \.originalStartDate), .text("Client", \.client),
        .word("Device", \.device), .text("State", \.state).spaced, .text("Country", \.country),
        .text("Previous Subscription Name", \.previousSubscriptionName),
        .identifier("Previous Subscription Apple ID", \.previousSubscriptionAppleID).spaced,
        .count("Days Before Canceling", \.daysBeforeCanceling).spaced,
        .word("Cancellation Reason", \.cancellationReason).spaced,
        .count("Days Canceled", \.daysCanceled).spaced, .count("Quantity", \.quantity),
        .count("Paid Service Days Recovered", \.paidServiceDaysRecovered).spaced,
    ]

    package static let layouts = [
        SalesReportLayout(
            SalesReportVersion(1, 2),
            "Event Date, Event, App Name, App Apple ID, Subscription Name, "
                + "Subscription Apple ID, Subscription Group ID, Standard Subscription Duration, "
                + "Promotional Offer Name, Promotional Offer ID, Subscription Offer Type, "
                + "Subscription Offer Duration, Marketing Opt-In, Marketing Opt-In Duration, "
                + "Preserved Pricing, Proceeds Reason, Consecutive Paid Periods, "
                + "Original Start Date, Client, Device, State, Country, "
                + "Previous Subscription Name, Previous Subscription Apple ID, "
                + "Days Before Canceling, Cancellation Reason, Days Canceled, Quantity"),
        SalesReportLayout(
            SalesReportVersion(1, 3),
            "Event Date, Event, App Name, App Apple ID, Subscription Name, "
                + "Subscription Apple ID, Subscription Group ID, Standard Subscription Duration, "
                + "Subscription Offer Type, Subscription Offer Duration, Marketing Opt-In, "
                + "Marketing Opt-In Duration, Preserved Pricing, Proceeds Reason, "
                + "Subscription Offer Name, Promotional Offer ID, Consecutive Paid Periods, "
                + "Original Start Date, Device, Client, State, Country, "
                + "Previous Subscription Name, Previous Subscription Apple ID, "
                + "Days Before Canceling, Cancellation Reason, Days Canceled, Quantity, "
                + "Paid Service Days Recovered"),
    ]
}
