import AppStoreFormats

/// The query of a request for a report, with Apple's refusals.
struct SalesReportQuery: Sendable {
    /// Apple's names of report types, including types for which the simulator has no rows.
    private static let types = [
        "SALES", "PRE_ORDER", "NEWSSTAND", "SUBSCRIPTION", "SUBSCRIPTION_EVENT", "SUBSCRIBER",
        "SUBSCRIPTION_OFFER_CODE_REDEMPTION", "INSTALLS", "FIRST_ANNUAL", "WIN_BACK_ELIGIBILITY",
    ]
    private static let frequencies = ["DAILY", "WEEKLY", "MONTHLY", "YEARLY"]

    private let filters: [String: String]

    /// - Parameter known: the names of filters, without `filter[…]`.
    init(
        _ query: [(name: String, value: String)], known: [String]
    ) throws(ConnectError) {
        var filters: [String: String] = [:]
        for (name, value) in query {
            guard let filter = known.first(where: { "filter[\($0)]" == name }) else {
                throw .illegalParameter(name)
            }
            filters[filter] = value
        }
        self.filters = filters
    }

    func value(_ filter: String) throws(ConnectError) -> String {
        guard let value = filters[filter], !value.isEmpty else { throw .missingParameter(filter) }
        return value
    }

    private func word(_ filter: String, of words: [String]) throws(ConnectError) -> String {
        let value = try value(filter)
        guard words.contains(value) else {
            throw .invalidParameter(
                filter, "The \(filter) parameter must be one of \(words.joined(separator: ", ")).")
        }
        return value
    }

    func checkVendor(_ number: String) throws(ConnectError) {
        guard try value("vendorNumber") == number else {
            throw .invalidParameter("vendorNumber", "Invalid vendor number specified.")
        }
    }

    // MARK: - Sales reports

    static let salesFilters = [
        "frequency", "reportDate", "reportSubType", "reportType", "vendorNumber", "version",
    ]

    /// - Parameter latest: the newest day for which a report is available. Only a request for a
    ///   daily report may omit the date.
    func salesRequest(
        _ rules: ReportRules, latest: CivilDate
    ) throws(ConnectError) -> SalesReportRequest {
        try checkVendor(rules.vendorNumber)
        let type = try word("reportType", of: Self.types)
        let period = try period(latest: latest)
        guard let kind = SalesReportKind(rawValue: type), kind != .financial else {
            throw .noSales
        }
        let request: SalesReportRequest
        do throws(ReportRequestFailure) {
            request = try SalesReportRequest(kind, period, vendorNumber: rules.vendorNumber)
        } catch {
            throw .invalidParameter("reportDate", error.description)
        }
        let subtype = try value("reportSubType")
        guard request.queryItems.contains(where: { $0 == ("filter[reportSubType]", subtype) })
        else {
            throw .invalidParameter(
                "reportSubType", "The report \(type) has no sub type \(subtype).")
        }
        try checkVersion(of: request)
        return request
    }

    /// Throws unless the request names the newest version. A request without a version means `1_0`.
    private func checkVersion(of request: SalesReportRequest) throws(ConnectError) {
        guard (filters["version"] ?? "1_0") == request.version.description else {
            throw .invalidParameter(
                "version",
                "The version parameter you have specified is invalid. "
                    + "The latest version for this report is \(request.version).")
        }
    }

    private func period(
        latest: CivilDate
    ) throws(ConnectError) -> SalesReportRequest.Period {
        let frequency = try word("frequency", of: Self.frequencies)
        if frequency == "DAILY", filters["reportDate"] == nil { return .day(latest) }
        let text = try value("reportDate")
        let parts = text.split(separator: "-").map { Int($0) }
        switch (frequency, parts.count) {
        case ("DAILY", 3): if let day = CivilDate(isoText: text) { return .day(day) }
        case ("WEEKLY", 3): if let day = CivilDate(isoText: text) { return .week(ending: day) }
        case ("MONTHLY", 2):
            if let year = parts[0], let month = parts[1], text.utf8.count == 7 {
                return .month(year: year, month: month)
            }
        case ("YEARLY", 1):
            if let year = parts[0], text.utf8.count == 4 { return .year(year) }
        default: break
        }
        throw .invalidParameter(
            "reportDate", "The reportDate \(text) is not one of a \(frequency) report.")
    }

    // MARK: - Finance reports

    static let financeFilters = ["regionCode", "reportDate", "reportType", "vendorNumber"]

    func financeRequest(_ rules: ReportRules) throws(ConnectError) -> FinanceReportRequest {
        try checkVendor(rules.vendorNumber)
        let type = try word("reportType", of: ["FINANCIAL", "FINANCE_DETAIL"])
        let date = try value("reportDate")
        guard let month = AppleFiscalMonth(date) else {
            throw .invalidParameter("reportDate", "The reportDate \(date) is not a fiscal month.")
        }
        let region = try value("regionCode")
        guard type == "FINANCIAL" else { throw .noSales }
        do throws(ReportRequestFailure) {
            return try FinanceReportRequest(
                month, regionCode: region, vendorNumber: rules.vendorNumber)
        } catch {
            throw .invalidParameter("regionCode", error.description)
        }
    }
}
