import AppStoreFormats

/// When documents about each purchase were signed last.
struct SigningDates: Sendable {
    /// Milliseconds, by original transaction id.
    private var last: [String: Int64] = [:]

    /// Reserves signing dates, a millisecond apart, for documents about one purchase, and returns
    /// the first. It is now, or later than all earlier ones, so that of two documents the later
    /// signed is the newer.
    mutating func reserve(
        _ count: Int64 = 1, for originalTransactionID: String, at now: AppStoreDate
    ) -> AppStoreDate {
        func first(after last: inout Int64) -> Int64 {
            let first = max(now.milliseconds, last &+ 1)
            last = first + count - 1
            return first
        }
        return AppStoreDate(
            milliseconds: first(after: &last[originalTransactionID, default: .min]))
    }
}
