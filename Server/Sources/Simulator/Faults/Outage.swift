import AppStoreFormats

/// A span of time in which nothing is delivered.
package struct Outage: Hashable, Sendable {
    /// The longest outage, in days: longer than all of Apple's delivery attempts.
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
