import AppStoreFormats
import Testing

@Suite struct SalesReportRequestTests {
    private static let day = CivilDate(year: 2026, month: 3, day: 7)

    private static let requests: [(SalesReportKind, SalesReportRequest.Period, String)] = [
        (.sales, .day(day), "DAILY 2026-03-07 SUMMARY SALES 1_0"),
        (
            .sales, .week(ending: CivilDate(year: 2026, month: 3, day: 8)),
            "WEEKLY 2026-03-08 SUMMARY SALES 1_0"
        ),
        (.sales, .month(year: 2026, month: 2), "MONTHLY 2026-02 SUMMARY SALES 1_0"),
        (.sales, .year(2025), "YEARLY 2025 SUMMARY SALES 1_0"),
        (.preOrder, .year(2025), "YEARLY 2025 SUMMARY PRE_ORDER 1_0"),
        (.subscription, .day(day), "DAILY 2026-03-07 SUMMARY SUBSCRIPTION 1_4"),
        (.subscriptionEvent, .day(day), "DAILY 2026-03-07 SUMMARY SUBSCRIPTION_EVENT 1_3"),
        (.subscriber, .day(day), "DAILY 2026-03-07 DETAILED SUBSCRIBER 1_3"),
        (
            .offerCodeRedemption, .day(day),
            "DAILY 2026-03-07 SUMMARY SUBSCRIPTION_OFFER_CODE_REDEMPTION 1_0"
        ),
    ]

    @Test(arguments: requests)
    func `a request for a report has Apple's parameters`(
        kind: SalesReportKind, period: SalesReportRequest.Period, text: String
    ) throws {
        let request = try SalesReportRequest(kind, period, vendorNumber: "80012345")
        let values = request.queryItems.filter { $0.name != "filter[vendorNumber]" }.map(\.value)
        #expect(values.joined(separator: " ") == text)
        #expect(
            request.queryItems.map(\.name) == [
                "filter[frequency]", "filter[reportDate]", "filter[reportSubType]",
                "filter[reportType]", "filter[vendorNumber]", "filter[version]",
            ])
        #expect(request.queryItems.contains { $0.value == "80012345" })
    }

    @Test func `a request can name another version of the report`() throws {
        let request = try SalesReportRequest(
            .subscription, .day(Self.day), vendorNumber: "80012345",
            version: SalesReportVersion(1, 3))
        #expect(request.queryItems.last?.value == "1_3")
    }

    private static let refused: [(SalesReportKind, SalesReportRequest.Period, String)] = [
        (.financial, .day(day), "80012345"), (.subscriber, .year(2025), "80012345"),
        (.subscription, .month(year: 2026, month: 1), "80012345"),
        (.sales, .week(ending: day), "80012345"), (.sales, .day(day), ""),
        (.sales, .day(day), "8001234A"), (.sales, .day(day), "1234567890123"),
        (.sales, .day(day), "８００"), (.sales, .year(2007), "80012345"),
        (.sales, .month(year: 2026, month: 13), "80012345"),
        (.sales, .month(year: 2026, month: 0), "80012345"),
        (.sales, .day(CivilDate(year: 2026, month: 2, day: 29)), "80012345"),
    ]

    @Test(arguments: refused)
    func `a request for a report that Apple does not offer is refused`(
        kind: SalesReportKind, period: SalesReportRequest.Period, vendorNumber: String
    ) {
        #expect(throws: ReportRequestFailure.self) {
            try SalesReportRequest(kind, period, vendorNumber: vendorNumber)
        }
    }

    /// Each row: when a report can first exist, when it is expected, and when Apple deletes it.
    /// Pacific time is 8 hours behind UTC in winter and 7 hours in summer.
    private static let moments: [(SalesReportRequest.Period, String, String, String)] = [
        // In this night, daylight saving time begins.
        (
            .day(day), "2026-03-08T08:00:00Z", "2026-03-08T15:00:00Z", "2027-03-08T08:00:00Z"
        ),
        (
            .day(CivilDate(year: 2026, month: 1, day: 31)), "2026-02-01T08:00:00Z",
            "2026-02-01T16:00:00Z", "2027-02-01T08:00:00Z"
        ),
        (
            .day(CivilDate(year: 2028, month: 2, day: 29)), "2028-03-01T08:00:00Z",
            "2028-03-01T16:00:00Z", "2029-03-01T08:00:00Z"
        ),
        (
            .week(ending: CivilDate(year: 2026, month: 7, day: 5)), "2026-07-06T07:00:00Z",
            "2026-07-06T15:00:00Z", "2027-07-06T07:00:00Z"
        ),
        (
            .month(year: 2026, month: 2), "2026-03-01T08:00:00Z", "2026-03-05T16:00:00Z",
            "2027-03-01T08:00:00Z"
        ),
        (
            .year(2025), "2026-01-01T08:00:00Z", "2026-01-06T16:00:00Z", "2036-01-01T08:00:00Z"
        ),
    ]

    @Test(arguments: moments)
    func `a report can exist once its period has ended in Pacific time`(
        period: SalesReportRequest.Period, earliest: String, expected: String, end: String
    ) throws {
        let request = try SalesReportRequest(.sales, period, vendorNumber: "80012345")
        #expect(ReceiptDate.text(request.earliest) == earliest)
        #expect(ReceiptDate.text(request.expected) == expected)
        #expect(ReceiptDate.text(request.end) == end)
        let before = AppStoreDate(milliseconds: request.earliest.milliseconds - 1)
        #expect(!request.canExist(at: before) && request.canExist(at: request.earliest))
        #expect(!request.isExpected(at: request.earliest))
        #expect(request.isExpected(at: request.expected))
        #expect(!request.canExist(at: request.end) && !request.isExpected(at: request.end))
    }

    @Test func `a finance report is requested by its fiscal month`() throws {
        let october = try #require(AppleFiscalMonth("2024-01"))
        let request = try FinanceReportRequest(
            october, regionCode: FinanceReportRequest.allRegions, vendorNumber: "80012345")
        #expect(request.queryItems.map(\.value) == ["ZZ", "2024-01", "FINANCIAL", "80012345"])
        #expect(
            request.queryItems.map(\.name) == [
                "filter[regionCode]", "filter[reportDate]", "filter[reportType]",
                "filter[vendorNumber]",
            ])
        // The month ends on 2023-11-04; the first Friday of the next one is 2023-11-10.
        #expect(ReceiptDate.text(request.earliest) == "2023-11-05T07:00:00Z")
        #expect(ReceiptDate.text(request.expected) == "2023-11-11T08:00:00Z")
        #expect(!request.isExpected(at: request.earliest))
        #expect(request.canExist(at: request.earliest) && request.isExpected(at: request.expected))
    }

    @Test(arguments: ["", "us", "USA", "U1", "Ü1", "*"])
    func `a region that is not two capital letters is refused`(region: String) throws {
        let month = try #require(AppleFiscalMonth("2024-01"))
        #expect(throws: ReportRequestFailure.self) {
            try FinanceReportRequest(month, regionCode: region, vendorNumber: "80012345")
        }
    }
}
