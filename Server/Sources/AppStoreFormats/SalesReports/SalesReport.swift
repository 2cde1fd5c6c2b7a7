/// The contents of one of Apple's report files: its columns and rows.
///
/// A file is read completely or refused. A report that was read is written with the same columns in
/// the same order, so `SalesReport(parsing: report.bytes())` equals the report.
package struct SalesReport<Row: SalesReportRow>: Hashable, Sendable {
    /// The version, which follows from the columns. The file does not name it.
    package let version: SalesReportVersion
    package let form: SalesReportForm
    /// The columns in the order and spelling of the file.
    package let header: [String]
    package let rows: [Row]
    /// Columns that this module does not interpret, as texts: columns that data loaders add, and
    /// columns of a newer version.
    package let additional: [SalesReportAddition]
    package let ending: SalesReportEnding

    /// Creates a report in Apple's form, or in the form of data loaders.
    ///
    /// - Parameter version: must be one of the row's versions. By default the newest one.
    package init(
        version: SalesReportVersion? = nil, form: SalesReportForm = .tabs, rows: [Row],
        ending: SalesReportEnding = .totals
    ) {
        guard let layout = Row.layouts.last(where: { $0.version == version ?? $0.version }) else {
            preconditionFailure("The report \(Row.kind.rawValue) has no version \(version as Any).")
        }
        self.init(
            version: layout.version, form: form, header: layout.header.map(form.spelling),
            rows: rows, additional: [], ending: ending)
    }

    init(
        version: SalesReportVersion, form: SalesReportForm, header: [String], rows: [Row],
        additional: [SalesReportAddition], ending: SalesReportEnding
    ) {
        self.version = version
        self.form = form
        self.header = header
        self.rows = rows
        self.additional = additional
        self.ending = ending
    }
}

/// The lines after the rows of a file.
package enum SalesReportEnding: Hashable, Sendable {
    /// The file ends with the sums of all rows, or with nothing if the report has no totals.
    case totals
    /// The file ends with the number of rows, and the sums of each country and currency. This is
    /// the case in a financial report of all regions, because amounts in several currencies have no
    /// common sum.
    case countries
}

/// The places in a header at which unknown columns are accepted as columns of a newer version, and
/// stored as texts.
package enum SalesReportNewerColumns: Hashable, Sendable {
    case refused
    /// Unknown columns are accepted anywhere in the header.
    case anywhere
    /// Unknown columns are accepted only after all known columns.
    case atEnd
}

/// A column that this module does not interpret.
package struct SalesReportAddition: Hashable, Sendable {
    package let name: String
    /// The cells of the column, one for each row. Blank cells are empty.
    package internal(set) var cells: [String]
}

/// A row of a report. The table of its columns is sufficient for reading and writing.
package protocol SalesReportRow: Hashable, Sendable {
    init()
    static var kind: SalesReportKind { get }
    /// The columns of all versions.
    static var columns: [SalesReportColumn<Self>] { get }
    /// The known versions, oldest first.
    static var layouts: [SalesReportLayout] { get }
    static var newerColumns: SalesReportNewerColumns { get }
    /// The totals at the end of a file. Empty if the report has none. Nil if the totals are too
    /// large.
    static func totals(of rows: [Self]) -> [SalesReportTotal]?
    /// The sums of each country and currency, for a file that ends with them. Nil if no file of the
    /// report ends with them, or if the sums are too large.
    static func countrySums(of rows: [Self]) -> SalesReportCountrySums?
    /// The name of the column whose amount, multiplied by the row's count, exceeds
    /// ``SalesReportCell/productMax``. Nil if no amount is that large.
    var uncountableColumn: String? { get }
}

extension SalesReportRow {
    package static var newerColumns: SalesReportNewerColumns { .refused }
    package static func totals(of rows: [Self]) -> [SalesReportTotal]? { [] }
    package static func countrySums(of rows: [Self]) -> SalesReportCountrySums? { nil }
    package var uncountableColumn: String? { nil }

    /// Whether files of a version can be read. True for known versions, and for newer versions if
    /// the report accepts unknown columns.
    package static func canRead(_ version: SalesReportVersion) -> Bool {
        if layouts.contains(where: { $0.version == version }) { return true }
        guard newerColumns != .refused, let newest = layouts.last?.version else { return false }
        return version > newest
    }

    static func isCountable(_ count: Int64, _ amount: Int64) -> Bool {
        let (product, isOver) = count.multipliedReportingOverflow(by: amount)
        return !isOver && product.magnitude <= SalesReportCell.productMax
    }
}

/// A line at the end of a file that sums up its rows.
package struct SalesReportTotal: Hashable, Sendable {
    /// The name of the line with the number of rows.
    static let rowsName = "Total_Rows"

    package let name: String
    /// The total. In thousandths if it is an amount.
    package let value: Int64
    package let isAmount: Bool

    var text: String {
        isAmount ? SalesReportCell.text(quantity: value) : String(value)
    }

    func isSpelled(_ cell: ArraySlice<UInt8>) -> Bool {
        (isAmount ? SalesReportCell.amount(cell) : SalesReportCell.count(cell)) == value
    }
}

/// A report of any kind. Its header shows the kind.
package enum AnySalesReport: Hashable, Sendable {
    case sales(SalesReport<SalesRow>)
    case subscription(SalesReport<SubscriptionRow>)
    case subscriptionEvent(SalesReport<SubscriptionEventRow>)
    case subscriber(SalesReport<SubscriberRow>)
    case offerCodeRedemption(SalesReport<OfferCodeRedemptionRow>)
    case preOrder(SalesReport<PreOrderRow>)
    case financial(SalesReport<FinancialRow>)

    /// - Parameter bytes: the decompressed file.
    package init(parsing bytes: [UInt8]) throws(SalesReportFailure) {
        var lines = try SalesReportLines(bytes)
        let header = try SalesReportHeader(removingFrom: &lines)
        switch try header.kind() {
        case .sales: self = .sales(try .read(&lines, after: header))
        case .subscription: self = .subscription(try .read(&lines, after: header))
        case .subscriptionEvent: self = .subscriptionEvent(try .read(&lines, after: header))
        case .subscriber: self = .subscriber(try .read(&lines, after: header))
        case .offerCodeRedemption: self = .offerCodeRedemption(try .read(&lines, after: header))
        case .preOrder: self = .preOrder(try .read(&lines, after: header))
        case .financial: self = .financial(try .read(&lines, after: header))
        }
    }

    package var kind: SalesReportKind {
        switch self {
        case .sales: .sales
        case .subscription: .subscription
        case .subscriptionEvent: .subscriptionEvent
        case .subscriber: .subscriber
        case .offerCodeRedemption: .offerCodeRedemption
        case .preOrder: .preOrder
        case .financial: .financial
        }
    }

    package var version: SalesReportVersion {
        switch self {
        case .sales(let report): report.version
        case .subscription(let report): report.version
        case .subscriptionEvent(let report): report.version
        case .subscriber(let report): report.version
        case .offerCodeRedemption(let report): report.version
        case .preOrder(let report): report.version
        case .financial(let report): report.version
        }
    }
}
