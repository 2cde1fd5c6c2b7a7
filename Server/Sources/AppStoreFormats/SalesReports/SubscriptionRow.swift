/// A row of the subscription report (SUBSCRIPTION): the numbers of subscriptions of one product,
/// price and territory in each state at the end of the day. All amounts are in thousandths of the
/// currency's unit.
///
/// Of the supported files, only this file counts active subscriptions.
package struct SubscriptionRow: SalesReportRow {
    package var appName = ""
    package var appAppleID: Int64 = 0
    package var subscriptionName = ""
    package var subscriptionAppleID: Int64 = 0
    package var subscriptionGroupID: Int64 = 0
    package var standardDuration: SalesReportDuration?
    package var offerName = ""
    package var promotionalOfferID = ""
    package var customerPrice: Int64 = 0
    package var customerCurrency = ""
    /// The proceeds of one subscription.
    package var developerProceeds: Int64 = 0
    package var proceedsCurrency = ""
    package var isPricePreserved = false
    package var proceedsReason: SalesReportProceedsReason?
    package var client = ""
    package var device: SalesReportDevice?
    /// The state in the customer's address, which Apple does not verify.
    package var state = ""
    package var country = ""

    package var standardPrice: Int64 = 0
    package var introductoryFreeTrial: Int64 = 0
    package var introductoryPayUpFront: Int64 = 0
    package var introductoryPayAsYouGo: Int64 = 0
    package var promotionalFreeTrial: Int64 = 0
    package var promotionalPayUpFront: Int64 = 0
    package var promotionalPayAsYouGo: Int64 = 0
    /// The number of subscriptions in an offer code's free trial. Nil before version 1_3.
    package var offerCodeFreeTrial: Int64?
    package var offerCodePayUpFront: Int64?
    package var offerCodePayAsYouGo: Int64?
    package var marketingOptIns: Int64 = 0
    package var billingRetry: Int64 = 0
    package var gracePeriod: Int64 = 0
    /// The number of subscribers. Nil before version 1_3, and if Apple leaves the number out
    /// because it is small.
    package var subscribers: Int64?
    /// The number of subscriptions in a win-back offer's free trial. Nil in files without these
    /// columns, which Apple added to version 1_3 in 2024.
    package var winBackFreeTrial: Int64?
    package var winBackPayUpFront: Int64?
    package var winBackPayAsYouGo: Int64?

    package init() {}

    // MARK: - What the numbers mean

    /// The number of open subscriptions. Includes subscriptions in their grace period, but not
    /// those in billing retry.
    package var active: Int64 { paid + freeTrials + marketingOptIns + gracePeriod }

    /// The number of paid subscriptions, at the standard price or at an offer's price. Does not
    /// include subscriptions in their grace period.
    package var paid: Int64 {
        let offers = [
            offerCodePayUpFront, offerCodePayAsYouGo, winBackPayUpFront, winBackPayAsYouGo,
        ]
        return standardPrice + introductoryPayUpFront + introductoryPayAsYouGo
            + promotionalPayUpFront + promotionalPayAsYouGo + offers.reduce(0) { $0 + ($1 ?? 0) }
    }

    package var freeTrials: Int64 {
        introductoryFreeTrial + promotionalFreeTrial + (offerCodeFreeTrial ?? 0)
            + (winBackFreeTrial ?? 0)
    }

    // MARK: - Columns

    package static var kind: SalesReportKind { .subscription }
    package static var newerColumns: SalesReportNewerColumns { .anywhere }

    package static let columns: [SalesReportColumn<Self>] = [
        .text("App Name", \.appName), .identifier("App Apple ID", \.appAppleID),
        .text("Subscription Name", \.subscriptionName),
        .identifier("Subscription Apple ID", \.subscriptionAppleID),
        .identifier("Subscription Group ID", \.subscriptionGroupID),
        .word("Standard Subscription Duration", \.standardDuration),
        .text("Subscription Offer Name", \.offerName).named(also: "Promotional Offer Name").spaced,
        .text("Promotional Offer ID", \.promotionalOfferID).spaced,
        .amount("Customer Price", \.customerPrice),
        .text("Customer Currency", \.customerCurrency),
        .amount("Developer Proceeds", \.developerProceeds),
        .text("Proceeds Currency", \.proceedsCurrency),
        .flag("Preserved Pricing", \.isPricePreserved),
        .word("Proceeds Reason", \.proceedsReason), .text("Client", \.client),
        .word("Device", \.device), .text("State", \.state).spaced, .text("Country", \.country),
        .count("Active Standard Price Subscriptions", \.standardPrice),
        .count("Active Free Trial Introductory Offer Subscriptions", \.introductoryFreeTrial),
        .count("Active Pay Up Front Introductory Offer Subscriptions", \.introductoryPayUpFront),
        .count("Active Pay As You Go Introductory Offer Subscriptions", \.introductoryPayAsYouGo),
        .count("Free Trial Promotional Offer Subscriptions", \.promotionalFreeTrial),
        .count("Pay Up Front Promotional Offer Subscriptions", \.promotionalPayUpFront),
        .count("Pay As You Go Promotional Offer Subscriptions", \.promotionalPayAsYouGo),
        .count("Free Trial Offer Code Subscriptions", \.offerCodeFreeTrial),
        .count("Pay Up Front Offer Code Subscriptions", \.offerCodePayUpFront),
        .count("Pay As You Go Offer Code Subscriptions", \.offerCodePayAsYouGo),
        .count("Marketing Opt-Ins", \.marketingOptIns), .count("Billing Retry", \.billingRetry),
        .count("Grace Period", \.gracePeriod), .count("Subscribers", \.subscribers),
        .count("Free Trial Win-back Offers", \.winBackFreeTrial),
        .count("Pay Up Front Win-back Offers", \.winBackPayUpFront),
        .count("Pay As You Go Win-back Offers", \.winBackPayAsYouGo),
    ]

    package static let layouts: [SalesReportLayout] = {
        func layout(_ minor: Int, offerName: String, offerCodes: String, end: String) -> Layout {
            SalesReportLayout(
                SalesReportVersion(1, minor),
                "App Name, App Apple ID, Subscription Name, Subscription Apple ID, "
                    + "Subscription Group ID, Standard Subscription Duration, \(offerName), "
                    + "Promotional Offer ID, Customer Price, Customer Currency, "
                    + "Developer Proceeds, Proceeds Currency, Preserved Pricing, Proceeds Reason, "
                    + "Client, Device, State, Country, Active Standard Price Subscriptions, "
                    + "Active Free Trial Introductory Offer Subscriptions, "
                    + "Active Pay Up Front Introductory Offer Subscriptions, "
                    + "Active Pay As You Go Introductory Offer Subscriptions, "
                    + "Free Trial Promotional Offer Subscriptions, "
                    + "Pay Up Front Promotional Offer Subscriptions, "
                    + "Pay As You Go Promotional Offer Subscriptions, "
                    + offerCodes + "Marketing Opt-Ins, Billing Retry, Grace Period" + end)
        }
        let third = layout(
            3, offerName: "Subscription Offer Name",
            offerCodes: "Free Trial Offer Code Subscriptions, "
                + "Pay Up Front Offer Code Subscriptions, "
                + "Pay As You Go Offer Code Subscriptions, ", end: ", Subscribers")
        return [
            layout(2, offerName: "Promotional Offer Name", offerCodes: "", end: ""), third,
            third.adding(
                "Free Trial Win-back Offers, Pay Up Front Win-back Offers, "
                    + "Pay As You Go Win-back Offers", version: SalesReportVersion(1, 4)),
        ]
    }()

    private typealias Layout = SalesReportLayout
}
