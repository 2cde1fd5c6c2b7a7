import AppStoreFormats
import Testing

@Suite struct SalesReportFiscalMonthTests {
    /// Each row: a fiscal month, its weeks, and its first and last day, from sites that track
    /// Apple's calendar and from financial reports.
    private static let known: [(String, Int, (Int, Int, Int), (Int, Int, Int))] = [
        ("2012-03", 5, (2011, 11, 27), (2011, 12, 31)),
        ("2014-12", 4, (2014, 8, 31), (2014, 9, 27)),
        ("2017-03", 5, (2016, 11, 27), (2016, 12, 31)),
        ("2021-01", 5, (2020, 9, 27), (2020, 10, 31)),
        ("2021-02", 4, (2020, 11, 1), (2020, 11, 28)),
        ("2021-03", 4, (2020, 11, 29), (2020, 12, 26)),
        ("2021-04", 5, (2020, 12, 27), (2021, 1, 30)),
        ("2021-05", 4, (2021, 1, 31), (2021, 2, 27)), ("2021-06", 4, (2021, 2, 28), (2021, 3, 27)),
        ("2021-07", 5, (2021, 3, 28), (2021, 5, 1)), ("2021-08", 4, (2021, 5, 2), (2021, 5, 29)),
        ("2021-09", 4, (2021, 5, 30), (2021, 6, 26)), ("2021-10", 5, (2021, 6, 27), (2021, 7, 31)),
        ("2021-12", 4, (2021, 8, 29), (2021, 9, 25)), ("2022-01", 5, (2021, 9, 26), (2021, 10, 30)),
        ("2023-01", 5, (2022, 9, 25), (2022, 10, 29)),
        ("2023-02", 4, (2022, 10, 30), (2022, 11, 26)),
        ("2023-03", 5, (2022, 11, 27), (2022, 12, 31)), ("2023-11", 4, (2023, 8, 6), (2023, 9, 2)),
        ("2023-12", 4, (2023, 9, 3), (2023, 9, 30)), ("2024-01", 5, (2023, 10, 1), (2023, 11, 4)),
        ("2024-02", 4, (2023, 11, 5), (2023, 12, 2)), ("2024-03", 4, (2023, 12, 3), (2023, 12, 30)),
        ("2024-04", 5, (2023, 12, 31), (2024, 2, 3)), ("2024-05", 4, (2024, 2, 4), (2024, 3, 2)),
        ("2024-06", 4, (2024, 3, 3), (2024, 3, 30)), ("2024-07", 5, (2024, 3, 31), (2024, 5, 4)),
        ("2024-08", 4, (2024, 5, 5), (2024, 6, 1)), ("2024-09", 4, (2024, 6, 2), (2024, 6, 29)),
        ("2024-10", 5, (2024, 6, 30), (2024, 8, 3)), ("2026-03", 4, (2025, 11, 30), (2025, 12, 27)),
    ]

    @Test(arguments: known)
    func `a fiscal month begins and ends on Apple's dates`(
        text: String, weeks: Int, from: (Int, Int, Int), to: (Int, Int, Int)
    ) throws {
        let month = try #require(AppleFiscalMonth(text))
        let first = CivilDate(year: from.0, month: from.1, day: from.2)
        let last = CivilDate(year: to.0, month: to.1, day: to.2)
        #expect(month.first == first && month.last == last && month.weeks == weeks)
        #expect(month.description == text)
        for day in first.daysSince1970...last.daysSince1970 {
            #expect(AppleFiscalMonth(containing: CivilDate(daysSince1970: day)) == month)
        }
    }

    /// The last day of each fiscal year, from Apple's annual reports.
    @Test(arguments: [
        (2008, 9, 27), (2009, 9, 26), (2010, 9, 25), (2011, 9, 24), (2012, 9, 29), (2013, 9, 28),
        (2014, 9, 27), (2015, 9, 26), (2016, 9, 24), (2017, 9, 30), (2018, 9, 29), (2019, 9, 28),
        (2020, 9, 26), (2021, 9, 25), (2022, 9, 24), (2023, 9, 30), (2024, 9, 28), (2025, 9, 27),
    ])
    func `a fiscal year ends as in Apple's annual reports`(year: Int, month: Int, day: Int) {
        let last = AppleFiscalMonth(year: year, number: 12)?.last
        #expect(last == CivilDate(year: year, month: month, day: day))
    }

    @Test func `three of the fiscal years 2008 to 2026 have 53 weeks`() {
        let long = (2008...2026).filter {
            AppleFiscalMonth(year: $0, number: 1)?.hasLongYear == true
        }
        #expect(long == [2012, 2017, 2023])
    }

    @Test func `fiscal months follow each other without a gap`() throws {
        var month = try #require(AppleFiscalMonth(year: 2008, number: 1))
        var count = 1
        while let next = month.next {
            #expect(next.first.daysSince1970 == month.last.daysSince1970 + 1)
            #expect(next.previous == month && month < next)
            // 1970-01-04 was a Sunday.
            #expect((next.first.daysSince1970 - 3) % 7 == 0)
            #expect([4, 5].contains(next.weeks))
            month = next
            count += 1
        }
        #expect(count == 12 * AppleFiscalMonth.years.count)
    }

    @Test func `the first month of a fiscal year is October`() throws {
        let first = try #require(AppleFiscalMonth("2019-01"))
        #expect(first.calendarMonth == 10 && first.calendarYear == 2018)
        let december = try #require(AppleFiscalMonth("2019-03"))
        #expect(december.calendarMonth == 12 && december.calendarYear == 2018)
        // If 2018-12 is requested, Apple sends September 2018.
        let last = try #require(AppleFiscalMonth("2018-12"))
        #expect(last.calendarMonth == 9 && last.calendarYear == 2018)
    }

    @Test(arguments: [
        "", "2026", "2026-13", "2026-00", "2026-1", "26-01", "2007-12", "2101-01",
        "2026-01-01", "2026_01", "٢٠٢٦-01", "+202-01",
    ])
    func `a text in another form is not a fiscal month`(text: String) {
        #expect(AppleFiscalMonth(text) == nil)
    }

    @Test func `a day before the App Store existed is in no fiscal month`() {
        #expect(AppleFiscalMonth(containing: CivilDate(year: 2007, month: 9, day: 29)) == nil)
        let first = AppleFiscalMonth(containing: CivilDate(year: 2007, month: 9, day: 30))
        #expect(first == AppleFiscalMonth(year: 2008, number: 1))
    }
}
