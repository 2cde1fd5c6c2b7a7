/// A row of the pre-order report (PRE_ORDER). The quantities are in thousandths, because the
/// quantities in Apple's reports have decimals.
package struct PreOrderRow: SalesReportRow {
    package var provider = "APPLE"
    package var title = ""
    package var preOrderStart = CivilDate(year: 1970, month: 1, day: 1)
    package var preOrderEnd = CivilDate(year: 1970, month: 1, day: 1)
    package var orderedThousandths: Int64 = 0
    package var canceledThousandths: Int64 = 0
    package var cumulativeOrderedThousandths: Int64 = 0
    package var cumulativeCanceledThousandths: Int64 = 0
    package var start = CivilDate(year: 1970, month: 1, day: 1)
    package var end = CivilDate(year: 1970, month: 1, day: 1)
    package var countryCode = ""
    package var appleID: Int64 = 0
    package var category = ""
    package var device: SalesReportDevice?
    package var supportedPlatforms = ""
    package var client = ""
    package var providerCountry = "US"

    package init() {}

    package static var kind: SalesReportKind { .preOrder }

    package static let columns: [SalesReportColumn<Self>] = [
        .text("Provider", \.provider), .text("Title", \.title),
        .slashedDay("Pre-Order Start Date", \.preOrderStart),
        .slashedDay("Pre-Order End Date", \.preOrderEnd),
        .quantity("Ordered", \.orderedThousandths), .quantity("Canceled", \.canceledThousandths),
        .quantity("Cumulative Ordered", \.cumulativeOrderedThousandths),
        .quantity("Cumulative Canceled", \.cumulativeCanceledThousandths),
        .slashedDay("Start Date", \.start), .slashedDay("End Date", \.end),
        .text("Country Code", \.countryCode), .identifier("Apple Identifier", \.appleID),
        .text("Category", \.category), .word("Device", \.device),
        .text("Supported Platforms", \.supportedPlatforms), .text("Client", \.client).spaced,
        .text("Provider Country", \.providerCountry),
    ]

    package static let layouts = [
        SalesReportLayout(
            SalesReportVersion(1, 0),
            "Provider, Title, Pre-Order Start Date, Pre-Order End Date, Ordered, Canceled, "
                + "Cumulative Ordered, Cumulative Canceled, Start Date, End Date, Country Code, "
                + "Apple Identifier, Category, Device, Supported Platforms, Client, "
                + "Provider Country")
    ]
}
