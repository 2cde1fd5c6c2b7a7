import AppStoreFormats

extension CivilDate {
    /// The day as text, such as `2026-01-31`.
    var isoText: String {
        let moment = AppStoreDate(milliseconds: daysSince1970 * RFC3339.millisecondsPerDay)
        return String(RFC3339.text(moment).prefix(10))
    }

    /// Parses a day such as `2026-01-31`. Returns nil for any other text, and for a day that does
    /// not exist.
    init?(isoText text: String) {
        guard let moment = RFC3339.moment(text + "T00:00:00Z"), text.utf8.count == 10 else {
            return nil
        }
        let days = moment.milliseconds.flooredDivision(by: RFC3339.millisecondsPerDay)
        self.init(daysSince1970: days)
    }
}
