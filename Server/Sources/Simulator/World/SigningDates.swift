import AppStoreFormats

/// The latest signing date of the documents about each purchase.
struct SigningDates: Sendable {
    /// The last signing date in milliseconds since 1970, by original transaction id.
    private var last: [String: Int64] = [:]

    /// Reserves signing dates, a millisecond apart, for documents about one purchase, and returns
    /// the first. The first date is now, or later than all dates reserved before. So of two
    /// documents, the one with the later date is always the newer one.
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
