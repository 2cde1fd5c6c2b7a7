/// A row of the sales report (SALES): units of one product in one territory that are equal in all
/// columns. All amounts are in thousandths of the currency's unit.
package struct SalesRow: SalesReportRow {
    package var provider = "APPLE"
    package var providerCountry = "US"
    package var sku = ""
    package var developer = ""
    package var title = ""
    package var appVersion = ""
    package var productType = SalesReportProductType(rawValue: "")
    /// The number of units. Negative for refunds; 0 for a partial refund.
    package var units: Int64 = 0
    /// The proceeds of one unit. Positive even for refunds.
    package var developerProceeds: Int64 = 0
    package var begin = CivilDate(year: 1970, month: 1, day: 1)
    package var end = CivilDate(year: 1970, month: 1, day: 1)
    package var customerCurrency = ""
    package var countryCode = ""
    /// The currency of the proceeds. Blank in rows of free downloads.
    package var proceedsCurrency = ""
    package var appleID: Int64 = 0
    /// The price of one unit. Negative for refunds. For a partial refund, the refunded amount.
    package var customerPrice: Int64 = 0
    package var promoCode = ""
    /// The SKU of the app to which an in-app purchase belongs.
    package var parentIdentifier = ""
    package var subscription: SalesReportSubscription?
    package var period: SalesReportDuration?
    package var category = ""
    package var cmb = ""
    package var device: SalesReportDevice?
    package var supportedPlatforms = ""
    package var proceedsReason: SalesReportProceedsReason?
    package var isPricePreserved = false
    package var client = ""
    package var orderType: SalesReportOffer?

    package init() {}

    // MARK: - What the numbers mean

    package var isRefund: Bool { units < 0 || customerPrice < 0 }
    /// Whether the row is a partial refund.
    package var isPartialRefund: Bool { units == 0 && customerPrice < 0 }
    package var isRenewal: Bool { subscription == .renewal }

    /// The amount that the developer receives for all units, in thousandths of
    /// ``proceedsCurrency``: the number of units times the proceeds of one unit. A partial refund
    /// has no units; its proceeds are subtracted once.
    package var proceeds: Int64 {
        isPartialRefund ? -developerProceeds : units * developerProceeds
    }

    /// What customers paid for all units, in thousandths of ``customerCurrency``. Negative for
    /// refunds.
    package var customerAmount: Int64 {
        isPartialRefund ? customerPrice : units * abs(customerPrice)
    }

    package var uncountableColumn: String? {
        if !Self.isCountable(units, customerPrice) { return "Customer Price" }
        return Self.isCountable(units, developerProceeds) ? nil : "Developer Proceeds"
    }

    // MARK: - Columns

    package static var kind: SalesReportKind { .sales }
    package static var newerColumns: SalesReportNewerColumns { .atEnd }

    package static let columns: [SalesReportColumn<Self>] = [
        .text("Provider", \.provider), .text("Provider Country", \.providerCountry),
        .text("SKU", \.sku), .text("Developer", \.developer).spaced, .text("Title", \.title),
        .text("Version", \.appVersion).spaced,
        .word("Product Type Identifier", \.productType), .count("Units", \.units),
        .amount("Developer Proceeds", \.developerProceeds),
        .slashedDay("Begin Date", \.begin), .slashedDay("End Date", \.end),
        .text("Customer Currency", \.customerCurrency), .text("Country Code", \.countryCode),
        .text("Currency of Proceeds", \.proceedsCurrency).spaced,
        .identifier("Apple Identifier", \.appleID), .amount("Customer Price", \.customerPrice),
        .text("Promo Code", \.promoCode).spaced,
        .text("Parent Identifier", \.parentIdentifier).spaced,
        .word("Subscription", \.subscription).spaced, .word("Period", \.period).spaced,
        .text("Category", \.category), .text("CMB", \.cmb), .word("Device", \.device),
        .text("Supported Platforms", \.supportedPlatforms),
        .word("Proceeds Reason", \.proceedsReason).spaced,
        .flag("Preserved Pricing", \.isPricePreserved).spaced, .text("Client", \.client).spaced,
        .word("Order Type", \.orderType).spaced,
    ]

    package static let layouts = [
        SalesReportLayout(
            SalesReportVersion(1, 0),
            "Provider, Provider Country, SKU, Developer, Title, Version, Product Type Identifier, "
                + "Units, Developer Proceeds, Begin Date, End Date, Customer Currency, "
                + "Country Code, Currency of Proceeds, Apple Identifier, Customer Price, "
                + "Promo Code, Parent Identifier, Subscription, Period, Category",
            later: "CMB, Device, Supported Platforms, Proceeds Reason, Preserved Pricing, Client, "
                + "Order Type")
    ]
}
