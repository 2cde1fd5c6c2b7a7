/// A row of the subscriber report (SUBSCRIBER): one payment, or one refund, of one subscriber whose
/// number is used only in these reports. All amounts are in thousandths of the currency's unit.
package struct SubscriberRow: SalesReportRow {
    package var eventDate = CivilDate(year: 1970, month: 1, day: 1)
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
    package var marketingOptInDuration: SalesReportDuration?
    /// The price of one unit. Negative for refunds. For a partial refund, the refunded amount.
    package var customerPrice: Int64 = 0
    package var customerCurrency = ""
    /// The proceeds of one unit. Positive even for refunds.
    package var developerProceeds: Int64 = 0
    package var proceedsCurrency = ""
    package var isPricePreserved = false
    package var proceedsReason: SalesReportProceedsReason?
    package var client = ""
    package var device: SalesReportDevice?
    package var country = ""
    /// The subscriber's number, which is random. The number changes after 180 days without a
    /// subscription.
    package var subscriberID: Int64 = 0
    package var isSubscriberIDReset = false
    /// Whether the row is marked as a refund: `Yes` in the file.
    package var isMarkedAsRefund = false
    /// The date of the purchase that was refunded. Nil in rows of payments.
    package var purchaseDate: CivilDate?
    /// The number of units. Negative for refunds; 0 for a partial refund.
    package var units: Int64 = 0

    package init() {}

    // MARK: - What the numbers mean

    package var isRefund: Bool { isMarkedAsRefund || units < 0 || customerPrice < 0 }
    /// Whether the row is a partial refund.
    package var isPartialRefund: Bool { units == 0 && customerPrice < 0 }

    /// The amount that the developer receives, in thousandths of ``proceedsCurrency``: the number
    /// of units times the proceeds of one unit. A partial refund has no units; its proceeds are
    /// subtracted once.
    package var proceeds: Int64 {
        isPartialRefund ? -developerProceeds : units * developerProceeds
    }

    /// What the customer paid, in thousandths of ``customerCurrency``. Negative for refunds.
    package var customerAmount: Int64 {
        isPartialRefund ? customerPrice : units * abs(customerPrice)
    }

    package var uncountableColumn: String? {
        if !Self.isCountable(units, customerPrice) { return "Customer Price" }
        return Self.isCountable(units, developerProceeds) ? nil : "Developer Proceeds"
    }

    // MARK: - Columns

    package static var kind: SalesReportKind { .subscriber }

    package static let columns: [SalesReportColumn<Self>] = [
        .day("Event Date", \.eventDate), .text("App Name", \.appName),
        .identifier("App Apple ID", \.appAppleID),
        .text("Subscription Name", \.subscriptionName),
        .identifier("Subscription Apple ID", \.subscriptionAppleID),
        .identifier("Subscription Group ID", \.subscriptionGroupID),
        .word("Standard Subscription Duration", \.standardDuration),
        .text("Subscription Offer Name", \.offerName).named(also: "Promotional Offer Name"),
        .text("Promotional Offer ID", \.promotionalOfferID),
        .word("Subscription Offer Type", \.offerType),
        .word("Subscription Offer Duration", \.offerDuration),
        .word("Marketing Opt-In Duration", \.marketingOptInDuration),
        .amount("Customer Price", \.customerPrice),
        .text("Customer Currency", \.customerCurrency),
        .amount("Developer Proceeds", \.developerProceeds),
        .text("Proceeds Currency", \.proceedsCurrency),
        .flag("Preserved Pricing", \.isPricePreserved).spaced,
        .word("Proceeds Reason", \.proceedsReason).spaced, .text("Client", \.client).spaced,
        .word("Device", \.device), .text("Country", \.country),
        .identifier("Subscriber ID", \.subscriberID),
        .flag("Subscriber ID Reset", \.isSubscriberIDReset), .flag("Refund", \.isMarkedAsRefund),
        .day("Purchase Date", \.purchaseDate), .count("Units", \.units),
    ]

    package static let layouts: [SalesReportLayout] = [
        layout(2, offerName: "Promotional Offer Name"),
        layout(3, offerName: "Subscription Offer Name"),
    ]

    private static func layout(_ minor: Int, offerName: String) -> SalesReportLayout {
        SalesReportLayout(
            SalesReportVersion(1, minor),
            "Event Date, App Name, App Apple ID, Subscription Name, Subscription Apple ID, "
                + "Subscription Group ID, Standard Subscription Duration, \(offerName), "
                + "Promotional Offer ID, Subscription Offer Type, Subscription Offer Duration, "
                + "Marketing Opt-In Duration, Customer Price, Customer Currency, "
                + "Developer Proceeds, Proceeds Currency, Preserved Pricing, Proceeds Reason, "
                + "Client, Device, Country, Subscriber ID, Subscriber ID Reset, Refund, "
                + "Purchase Date, Units")
    }
}
