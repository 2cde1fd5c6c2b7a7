package import Foundation

/// Writes texts in the customer's language.
package struct Wording: Sendable {
    private let language: Language
    private let calendar: Calendar
    /// The customer's locale or, if the SDK has no texts in that locale's language, an English
    /// locale.
    package let locale: Locale

    package init(locale: Locale = .current, calendar: Calendar = .current) {
        language = Language(locale)
        self.locale = language.locale(near: locale)
        self.calendar = calendar
    }

    /// Returns a text. `count` chooses the plural form and fills in `{count}`.
    package func text(
        _ key: TextKey, count: Int? = nil, _ values: [TextKey.Placeholder: String] = [:]
    ) -> String {
        var values = values
        if let count { values[.count] = number(count) }
        let category = count.map(language.category) ?? .other
        return Phrase.fill(language.phrases[key]?.form(category) ?? key.rawValue, values)
    }

    package func number(_ number: Int) -> String {
        number.formatted(IntegerFormatStyle<Int>.number.locale(locale))
    }

    /// A day, such as "24 May 2027".
    func date(_ date: Date) -> String {
        date.formatted(
            Date.FormatStyle(
                date: .long, time: .omitted, locale: locale, calendar: calendar,
                timeZone: calendar.timeZone))
    }

    /// A length of time, such as "3 months and 1 day".
    func length(_ period: Perennial.Period) -> String {
        let length = text(Self.lengths[period.unit] ?? .days, count: period.value)
        guard period.bonusDays > 0 else { return length }
        let more = text(.days, count: period.bonusDays)
        return text(.lengthAndLength, [.first: length, .second: more])
    }

    /// A price with its period, such as "9,99 € a month" or "9,99 € every 3 months".
    func price(_ price: String, every period: Perennial.Period) -> String {
        text(Self.prices[period.unit] ?? .priceDaily, count: period.value, [.price: price])
    }

    private static let lengths: [Perennial.Period.Unit: TextKey] = [
        .day: .days, .week: .weeks, .month: .months, .year: .years,
    ]
    private static let prices: [Perennial.Period.Unit: TextKey] = [
        .day: .priceDaily, .week: .priceWeekly, .month: .priceMonthly, .year: .priceYearly,
    ]
}
