import AppStoreFormats
import Testing

@Suite struct SalesReportVocabularyTests {
    private static let families: [(String, SalesReportEvent.Family?)] = [
        ("Start Introductory Offer", .start), ("Start Offer Code", .start), ("Subscribe", .start),
        ("Opt-In", .start), ("Renew", .renewal), ("Renewal from Billing Retry", .renewal),
        ("Renewal from Grace Period", .renewal), ("Cancel", .cancellation),
        ("Canceled from Billing Grace Period", .cancellation),
        ("Canceled After Renewal Extension", .cancellation),
        ("Billing Retry from Paid Subscription", .billingRetry),
        ("Grace Period from Introductory Offer", .gracePeriod),
        ("Billing Grace Period from Paid Subscription", .gracePeriod),
        ("Paid Subscription from Win-Back Offer with Upgrade", .conversion),
        ("Upgrade", .upgrade), ("Downgrade from Grace Period", .downgrade),
        ("Crossgrade From Introductory Offer", .crossgrade), ("Reactivate", .reactivation),
        ("Reactivation to Promotional Offer", .reactivation), ("Refund", .refund),
        ("Renewal Extension", .renewalExtension),
        ("Introductory Offer from Introductory Offer", .offer),
        ("Promotional Offer from Win-Back Offer", .offer),
        ("Introductory Price from Paid Subscription", .offer), ("Moon Landing", nil), ("", nil),
    ]

    @Test(arguments: families)
    func `the family of an event follows from the beginning of its name`(
        name: String, family: SalesReportEvent.Family?
    ) {
        #expect(SalesReportEvent(rawValue: name).family == family)
    }

    private static let durations: [(String, BillingPeriod?)] = [
        ("7 Days", BillingPeriod(1, .week)), ("3 Days", BillingPeriod(3, .day)),
        ("2 Weeks", BillingPeriod(2, .week)), ("1 Month", BillingPeriod(1, .month)),
        ("6 Months", BillingPeriod(6, .month)), ("1 Year", BillingPeriod(1, .year)),
        ("6 Months,", nil), ("1 Fortnight", nil), ("0 Days", nil), ("367 Days", nil), ("", nil),
        ("Month", nil), ("-1 Month", nil),
    ]

    @Test(arguments: durations)
    func `the duration of a subscription is read as a billing period`(
        text: String, period: BillingPeriod?
    ) {
        #expect(SalesReportDuration(rawValue: text).period == period)
        if let period { #expect(SalesReportDuration(period).rawValue == text) }
    }

    private static let offers: [(String, OfferDiscountType?, OfferType?)] = [
        ("Pay as you go", .payAsYouGo, nil), ("Free Trial", .freeTrial, nil),
        ("Pay up front", .payUpFront, nil),
        ("Pay As You Go Intro Offer", .payAsYouGo, .introductory),
        ("Free Trial Promotional Offer", .freeTrial, .promotional),
        ("Pay Up Front Offer Code", .payUpFront, .code),
        ("Pay Up Front Win-Back Offer", .payUpFront, .winBack), ("Barter", nil, nil),
    ]

    @Test(arguments: offers)
    func `an offer is recognised in the spelling of each report`(
        text: String, discount: OfferDiscountType?, type: OfferType?
    ) {
        let offer = SalesReportOffer(rawValue: text)
        #expect(offer.discount == discount && offer.type == type)
    }

    private static let products: [(String, Bool, Bool)] = [
        ("IAY", true, true), ("IAY-M", true, true), ("IA1", false, true), ("IA1-M", false, true),
        ("IA9", false, true), ("IAC", false, true), ("FI1", false, true), ("IA3", false, false),
        ("1F", false, false), ("7", false, false), ("F1-B", false, false),
    ]

    @Test(arguments: products)
    func `a product type shows whether the sale was an in-app purchase`(
        text: String, isAutoRenewable: Bool, isInAppPurchase: Bool
    ) {
        let type = SalesReportProductType(rawValue: text)
        #expect(type.isAutoRenewable == isAutoRenewable)
        #expect(type.isInAppPurchase == isInAppPurchase)
    }

    @Test func `all subscriptions except those in billing retry count as active`() {
        var row = SubscriptionRow()
        row.standardPrice = 1
        row.introductoryPayAsYouGo = 2
        row.offerCodePayUpFront = 4
        row.winBackPayAsYouGo = 8
        row.introductoryFreeTrial = 16
        row.offerCodeFreeTrial = 32
        row.gracePeriod = 64
        row.billingRetry = 128
        row.marketingOptIns = 256
        #expect(row.paid == 15 && row.freeTrials == 48 && row.active == 15 + 48 + 64 + 256)
    }
}
