import Ledger
import Storage
import Synchronization

/// Limits the growth of the database by requests with an app key that contain no new document. The
/// limit applies to new ids, to account tokens and consents of new customers, to attributes, and to
/// changes of ownership that known documents cause. An app key is public in practice, so without a
/// limit anyone could fill the disk.
///
/// This limit never refuses a request with a new document, because documents have their own budget.
/// Otherwise a flood of requests could prevent a customer's device from posting a purchase. A
/// request about a known customer is refused only if it adds much to attributes.
///
/// An app may use up its budget at once. The budget refills evenly within an hour. Each server
/// counts separately, because requests would wait for each other if all of them updated one row.
final class GrowthMeter: Sendable {
    private static let hour = Duration.hours(1)

    /// When each app's budget will be full again.
    private let fullAt = Mutex<[AppID: Instant]>([:])

    /// Returns how long to wait until one more item may be added. Returns nil if an item may be
    /// added now.
    func wait(of app: AppSettings, at now: Instant) -> Duration? {
        let next = fullTime(of: app, adding: 1, at: now)
        return next <= now + Self.hour ? nil : next - (now + Self.hour)
    }

    func add(_ count: Int, of app: AppSettings, at now: Instant) {
        guard count > 0 else { return }
        let next = fullTime(of: app, adding: count, at: now)
        fullAt.withLock { $0[app.id] = next }
    }

    private func fullTime(of app: AppSettings, adding count: Int, at now: Instant) -> Instant {
        let known = fullAt.withLock { $0[app.id] }
        let cost = Duration.milliseconds(
            Self.hour.wholeMilliseconds * Int64(count) / Int64(max(1, app.growthPerHour)))
        return max(known ?? now, now) + max(cost, .milliseconds(1))
    }
}

extension AppSettings {
    /// The default number of items that requests with an app key may add within an hour, if they
    /// contain no new document.
    package static let growthPerHourDefault = 10_000
}
