import AppStoreFormats

/// A time in which nothing comes through.
package struct Outage: Hashable, Sendable {
    /// The longest, in days: longer than all of Apple's attempts.
    static let daysMax: Int64 = 366

    package let from: AppStoreDate
    package let until: AppStoreDate

    package init(from: AppStoreDate, until: AppStoreDate) {
        self.from = from
        self.until = until
    }

    func includes(_ moment: AppStoreDate) -> Bool { from <= moment && moment < until }

    var json: JSON {
        ["from": .string(RFC3339.text(from)), "until": .string(RFC3339.text(until))]
    }
}
