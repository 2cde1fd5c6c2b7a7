import AppStoreFormats

/// When the App Store has a report (App Store Connect Help, "Sales and Trends reports
/// availability").
struct ReportAvailability: Sendable {
    /// The hour of the day at which reports appear.
    static let hour: Int64 = 8

    let calendar: ReportCalendar

    /// The last day for which a report is available.
    func latestDay(at now: AppStoreDate) -> CivilDate {
        let today = calendar.day(of: now)
        let isEarly = now < calendar.moment(today, hour: Self.hour)
        return CivilDate(daysSince1970: today.daysSince1970 - (isEarly ? 2 : 1))
    }

    func check(_ period: SalesReportRequest.Period, at now: AppStoreDate) throws(ConnectError) {
        let last = period.last.daysSince1970
        let begins = calendar.moment(
            CivilDate(daysSince1970: last + period.daysUntilReport), hour: Self.hour)
        guard begins <= now else { throw .notYetAvailable }
        let ends = calendar.moment(CivilDate(daysSince1970: last + 1 + period.daysKept))
        guard now < ends else { throw .noLongerAvailable }
    }

    /// Throws until a week after the end of the fiscal month: until then, Apple responds as for a
    /// month without sales.
    func check(_ month: AppleFiscalMonth, at now: AppStoreDate) throws(ConnectError) {
        let day = CivilDate(daysSince1970: month.last.daysSince1970 + 7)
        guard calendar.moment(day) <= now else { throw .noSales }
    }
}

extension SalesReportRequest.Period {
    fileprivate var daysUntilReport: Int64 {
        switch self {
        case .day, .week: 1
        case .month: 5
        case .year: 6
        }
    }

    fileprivate var daysKept: Int64 {
        if case .year = self { 3653 } else { 365 }
    }

    var first: CivilDate {
        switch self {
        case .day(let day): day
        case .week(let sunday): CivilDate(daysSince1970: sunday.daysSince1970 - 6)
        case .month(let year, let month): CivilDate(year: year, month: month, day: 1)
        case .year(let year): CivilDate(year: year, month: 1, day: 1)
        }
    }
}
