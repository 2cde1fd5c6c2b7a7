/// A row of the financial report (FINANCIAL): settled sales or refunds of one product in one
/// territory and fiscal month. All amounts are in thousandths of the currency's unit.
package struct FinancialRow: SalesReportRow {
    package var start = CivilDate(year: 1970, month: 1, day: 1)
    package var end = CivilDate(year: 1970, month: 1, day: 1)
    package var upc = ""
    package var isrc = ""
    /// The product's SKU.
    package var vendorIdentifier = ""
    /// The number of units. Negative for refunds.
    package var quantity: Int64 = 0
    /// The developer's amount for one unit.
    package var partnerShare: Int64 = 0
    /// The developer's amount for all units.
    package var extendedPartnerShare: Int64 = 0
    package var partnerShareCurrency = ""
    package var direction = SalesReportDirection.sale
    package var appleID: Int64 = 0
    package var artist = ""
    package var title = ""
    package var label = ""
    package var grid = ""
    package var productType = SalesReportProductType(rawValue: "")
    package var isan = ""
    package var countryOfSale = ""
    package var preOrderFlag = ""
    package var promoCode = ""
    package var customerPrice: Int64 = 0
    package var customerCurrency = ""

    package init() {}

    package var isRefund: Bool { direction == .return || quantity < 0 }
    /// What the developer is paid for the row, in thousandths of ``partnerShareCurrency``.
    package var proceeds: Int64 { extendedPartnerShare }

    /// The number of partial refunds in the row. Partial refunds have no quantity, and equal ones
    /// are combined in one row. 0 if the row is about whole units.
    package var partialRefunds: Int64 {
        quantity == 0 && partnerShare != 0 ? abs(extendedPartnerShare / partnerShare) : 0
    }

    package var uncountableColumn: String? {
        let isCountable =
            Self.isCountable(quantity, customerPrice)
            && Self.isCountable(partialRefunds, customerPrice)
        return isCountable ? nil : "Customer Price"
    }

    /// Whether nothing was paid for the row's units. Apple also lists free units.
    package var isFree: Bool {
        customerPrice == 0 && partnerShare == 0 && extendedPartnerShare == 0
    }

    package static func countrySums(of rows: [Self]) -> SalesReportCountrySums? {
        var sums = SalesReportCountrySums()
        for row in rows {
            let isAdded = sums.add(
                .init(country: row.countryOfSale, currency: row.partnerShareCurrency),
                quantity: row.quantity, amount: row.extendedPartnerShare, isFree: row.isFree)
            guard isAdded else { return nil }
        }
        return sums
    }

    /// The totals at the end of a file of one region. The amounts of all rows are added, whatever
    /// their currencies.
    package static func totals(of rows: [Self]) -> [SalesReportTotal]? {
        var (amount, units): (Int64, Int64) = (0, 0)
        for row in rows {
            let (newAmount, isAmountOver) = amount.addingReportingOverflow(row.extendedPartnerShare)
            let (newUnits, areUnitsOver) = units.addingReportingOverflow(row.quantity)
            guard !isAmountOver, !areUnitsOver else { return nil }
            (amount, units) = (newAmount, newUnits)
        }
        return [
            SalesReportTotal(
                name: SalesReportTotal.rowsName, value: Int64(rows.count), isAmount: false),
            SalesReportTotal(name: "Total_Amount", value: amount, isAmount: true),
            SalesReportTotal(name: "Total_Units", value: units, isAmount: false),
        ]
    }

    // MARK: - Columns

    package static var kind: SalesReportKind { .financial }

    package static let columns: [SalesReportColumn<Self>] = [
        .slashedDay("Start Date", \.start), .slashedDay("End Date", \.end), .text("UPC", \.upc),
        .text("ISRC/ISBN", \.isrc), .text("Vendor Identifier", \.vendorIdentifier),
        .count("Quantity", \.quantity), .amount("Partner Share", \.partnerShare),
        .amount("Extended Partner Share", \.extendedPartnerShare),
        .text("Partner Share Currency", \.partnerShareCurrency),
        .word("Sales or Return", \.direction), .identifier("Apple Identifier", \.appleID),
        .text("Artist/Show/Developer/Author", \.artist), .text("Title", \.title),
        .text("Label/Studio/Network/Developer/Publisher", \.label), .text("Grid", \.grid),
        .word("Product Type Identifier", \.productType), .text("ISAN/Other Identifier", \.isan),
        .text("Country Of Sale", \.countryOfSale), .text("Pre-order Flag", \.preOrderFlag),
        .text("Promo Code", \.promoCode), .amount("Customer Price", \.customerPrice),
        .text("Customer Currency", \.customerCurrency),
    ]

    package static let layouts = [
        SalesReportLayout(
            SalesReportVersion(1, 0),
            "Start Date, End Date, UPC, ISRC/ISBN, Vendor Identifier, Quantity, Partner Share, "
                + "Extended Partner Share, Partner Share Currency, Sales or Return, "
                + "Apple Identifier, Artist/Show/Developer/Author, Title, "
                + "Label/Studio/Network/Developer/Publisher, Grid, Product Type Identifier, "
                + "ISAN/Other Identifier, Country Of Sale, Pre-order Flag, Promo Code, "
                + "Customer Price, Customer Currency")
    ]
}
