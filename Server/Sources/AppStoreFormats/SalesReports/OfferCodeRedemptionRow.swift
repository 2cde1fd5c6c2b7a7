/// A row of the subscription offer redemption report (SUBSCRIPTION_OFFER_CODE_REDEMPTION).
package struct OfferCodeRedemptionRow: SalesReportRow {
    package var date = CivilDate(year: 1970, month: 1, day: 1)
    package var appName = ""
    package var appAppleID: Int64 = 0
    package var subscriptionName = ""
    package var subscriptionAppleID: Int64 = 0
    package var offerReferenceName = ""
    /// The offer code. Blank for one-time codes.
    package var offerCode = ""
    package var territory = ""
    package var redemptions: Int64 = 0

    package init() {}

    package static var kind: SalesReportKind { .offerCodeRedemption }

    package static let columns: [SalesReportColumn<Self>] = [
        .day("Date", \.date), .text("App Name", \.appName),
        .identifier("App Apple ID", \.appAppleID),
        .text("Subscription Name", \.subscriptionName),
        .identifier("Subscription Apple ID", \.subscriptionAppleID),
        .text("Offer Reference Name", \.offerReferenceName),
        .text("Offer Code", \.offerCode).spaced, .text("Territory", \.territory),
        .count("Redemptions", \.redemptions),
    ]

    package static let layouts = [
        SalesReportLayout(
            SalesReportVersion(1, 0),
            "Date, App Name, App Apple ID, Subscription Name, Subscription Apple ID, "
                + "Offer Reference Name, Offer Code, Territory, Redemptions")
    ]
}
