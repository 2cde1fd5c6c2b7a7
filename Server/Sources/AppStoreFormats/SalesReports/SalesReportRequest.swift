/// A request for a sales and trends report (`GET /v1/salesReports` of the App Store Connect API,
/// "Download Sales and Trends Reports"): its parameters, and when the report can exist.
package struct SalesReportRequest: Hashable, Sendable {
    package let kind: SalesReportKind
    package let period: Period
    package let version: SalesReportVersion
    package let vendorNumber: String

    /// The time that a report is about, in the standard calendar, not in Apple's fiscal calendar.
    package enum Period: Hashable, Sendable {
        case day(CivilDate)
        /// A week from Monday to Sunday, named by its Sunday.
        case week(ending: CivilDate)
        case month(year: Int, month: Int)
        case year(Int)
    }

    package static let vendorDigitsMax = 12

    /// - Parameter version: by default the newest version that Apple is known to accept.
    /// - Throws: ``ReportRequestFailure`` if Apple has no such report.
    package init(
        _ kind: SalesReportKind, _ period: Period, vendorNumber: String,
        version: SalesReportVersion? = nil
    ) throws(ReportRequestFailure) {
        guard let newest = Self.newestVersions[kind] else {
            throw ReportRequestFailure(
                "The report \(kind.rawValue) is not a sales report: request it as a finance report."
            )
        }
        guard Self.hasAllFrequencies.contains(kind) || period.isDay else {
            throw ReportRequestFailure(
                "The report \(kind.rawValue) exists only for single days, not \(period.frequency).")
        }
        self.kind = kind
        self.period = try period.checked()
        self.version = version ?? newest
        self.vendorNumber = try ReportRequestFailure.checkedVendorNumber(vendorNumber)
    }

    /// The request for the same report in another version.
    package func with(version: SalesReportVersion) -> Self {
        Self(copying: self, version: version)
    }

    private init(copying other: Self, version: SalesReportVersion) {
        (kind, period, vendorNumber) = (other.kind, other.period, other.vendorNumber)
        self.version = version
    }

    private static let newestVersions: [SalesReportKind: SalesReportVersion] = [
        .sales: SalesReportVersion(1, 0), .subscription: SalesReportVersion(1, 4),
        .subscriptionEvent: SalesReportVersion(1, 3), .subscriber: SalesReportVersion(1, 3),
        .offerCodeRedemption: SalesReportVersion(1, 0), .preOrder: SalesReportVersion(1, 0),
    ]

    /// The reports that exist for every period. The others exist only for single days.
    private static let hasAllFrequencies: Set<SalesReportKind> = [.sales, .preOrder]

    /// The query of the request, not percent-encoded.
    package var queryItems: [(name: String, value: String)] {
        [
            ("filter[frequency]", period.frequency), ("filter[reportDate]", period.text),
            ("filter[reportSubType]", kind == .subscriber ? "DETAILED" : "SUMMARY"),
            ("filter[reportType]", kind.rawValue), ("filter[vendorNumber]", vendorNumber),
            ("filter[version]", version.description),
        ]
    }

    // MARK: - Availability

    /// The moment before which the report cannot exist, because its period is not over. Assumes
    /// days in Pacific time, as in worldwide agreements.
    package var earliest: AppStoreDate { PacificTime.moment(daysAfter: period.last, 1, hour: 0) }

    /// When Apple usually has the report ("Sales and Trends reports availability"): at 8:00 Pacific
    /// time. A daily or weekly report appears on the next day, a monthly report 5 days after the
    /// month's end, and a yearly report 6 days after the year's end.
    package var expected: AppStoreDate {
        let days: Int64 =
            switch period {
            case .day, .week: 1
            case .month: 5
            case .year: 6
            }
        return PacificTime.moment(daysAfter: period.last, days, hour: 8)
    }

    /// The moment after which Apple no longer has the report: a year after its end, ten years for
    /// yearly reports. Apple does not generate reports again.
    package var end: AppStoreDate {
        let last = period.last
        let years = if case .year = period { 10 } else { 1 }
        let isLeapDay = last.month == 2 && last.day == 29
        let anniversary = CivilDate(
            year: last.year + years, month: last.month, day: isLeapDay ? 28 : last.day)
        return PacificTime.moment(daysAfter: anniversary, 1, hour: 0)
    }

    package func canExist(at now: AppStoreDate) -> Bool { earliest <= now && now < end }
    package func isExpected(at now: AppStoreDate) -> Bool { expected <= now && now < end }
}

extension SalesReportRequest.Period {
    package var frequency: String {
        switch self {
        case .day: "DAILY"
        case .week: "WEEKLY"
        case .month: "MONTHLY"
        case .year: "YEARLY"
        }
    }

    /// The period in the form of `filter[reportDate]`.
    package var text: String {
        let day = SalesReportCell.text(day: last, isSlashed: false)
        return switch self {
        case .day, .week: day
        case .month: String(day.prefix(7))
        case .year: String(day.prefix(4))
        }
    }

    package var last: CivilDate {
        switch self {
        case .day(let day), .week(ending: let day): day
        case .month(let year, let month):
            CivilDate(year: year, month: month, day: CivilDate.days(inMonth: month, of: year))
        case .year(let year): CivilDate(year: year, month: 12, day: 31)
        }
    }

    fileprivate var isDay: Bool {
        if case .day = self { true } else { false }
    }

    fileprivate func checked() throws(ReportRequestFailure) -> Self {
        let last = last
        guard PacificTime.years.contains(last.year), (1...12).contains(last.month),
            (1...CivilDate.days(inMonth: last.month, of: last.year)).contains(last.day)
        else { throw ReportRequestFailure("\(self) is not a time of the App Store.") }
        // 1970-01-04 was a Sunday.
        if case .week = self, (last.daysSince1970 - 3) % 7 != 0 {
            throw ReportRequestFailure("\(text) is not a Sunday: name a week by its last day.")
        }
        return self
    }
}

/// A request for a financial report (`GET /v1/financeReports` of the App Store Connect API,
/// "Download Finance Reports").
package struct FinanceReportRequest: Hashable, Sendable {
    package let month: AppleFiscalMonth
    /// The region: `US`, `EU`, `JP` and so on, or ``allRegions`` for one file with all regions.
    package let regionCode: String
    package let vendorNumber: String

    package static let allRegions = "ZZ"

    /// - Throws: ``ReportRequestFailure`` if the region code is not two capital letters, or if the
    ///   vendor number does not consist of digits.
    package init(
        _ month: AppleFiscalMonth, regionCode: String, vendorNumber: String
    ) throws(ReportRequestFailure) {
        guard regionCode.utf8.count == 2,
            regionCode.utf8.allSatisfy({ (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) })
        else {
            throw ReportRequestFailure(
                "\"\(regionCode)\" is not a region code: write two capital letters, such as US, or "
                    + "ZZ for all regions.")
        }
        self.month = month
        self.regionCode = regionCode
        self.vendorNumber = try ReportRequestFailure.checkedVendorNumber(vendorNumber)
    }

    /// The query of the request, not percent-encoded.
    package var queryItems: [(name: String, value: String)] {
        [
            ("filter[regionCode]", regionCode), ("filter[reportDate]", month.description),
            ("filter[reportType]", SalesReportKind.financial.rawValue),
            ("filter[vendorNumber]", vendorNumber),
        ]
    }

    /// The moment before which the report cannot exist, because its fiscal month is not over in
    /// Pacific time.
    package var earliest: AppStoreDate { PacificTime.moment(daysAfter: month.last, 1, hour: 0) }

    /// When Apple usually has the report: after the first Friday of the next fiscal month.
    package var expected: AppStoreDate { PacificTime.moment(daysAfter: month.last, 7, hour: 0) }

    package func canExist(at now: AppStoreDate) -> Bool { earliest <= now }
    package func isExpected(at now: AppStoreDate) -> Bool { expected <= now }
}

/// Why Apple has no report for a request.
package struct ReportRequestFailure: Error, Hashable, Sendable, CustomStringConvertible {
    package let description: String

    init(_ description: String) { self.description = description }

    fileprivate static func checkedVendorNumber(
        _ number: String
    ) throws(ReportRequestFailure) -> String {
        guard (1...SalesReportRequest.vendorDigitsMax).contains(number.utf8.count),
            number.utf8.allSatisfy({ (0x30...0x39).contains($0) })
        else {
            throw ReportRequestFailure(
                "\"\(number)\" is not a vendor number: it has digits only, and is shown in App "
                    + "Store Connect under Payments and Financial Reports.")
        }
        return number
    }
}

/// Moments in Cupertino's local time.
private enum PacificTime {
    static let years = 2008...2100

    static func moment(daysAfter day: CivilDate, _ days: Int64, hour: Int) -> AppStoreDate {
        let date = CivilDate(daysSince1970: day.daysSince1970 + days)
        let text = SalesReportCell.text(day: date, isSlashed: false)
        let time = "\(hour < 10 ? "0" : "")\(hour):00:00"
        guard let moment = ReceiptDate.moment("\(text) \(time) America/Los_Angeles") else {
            preconditionFailure("\(text) \(time) is not a moment in Pacific time.")
        }
        return moment
    }
}
