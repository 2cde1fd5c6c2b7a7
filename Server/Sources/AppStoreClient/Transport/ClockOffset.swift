import AppStoreFormats
import Synchronization

/// Measures how far our clock is from the App Store's, using the `Date` header of its last
/// response, successful or not.
///
/// That date is truncated to seconds, and some servers update it only once a second. The response
/// was written at an unknown moment between the sending of the request and the arrival of the
/// response. Only a difference beyond these inaccuracies is reported, so the true difference is at
/// least as large.
package final class ClockOffset: Sendable {
    /// How much later than its `Date` a response may be written, in milliseconds.
    private static let dateAgeMax: Int64 = 2_000

    private let latest = Mutex<Duration?>(nil)

    package init() {}

    /// The minimum time by which our clock is ahead of the App Store's clock. Negative if our clock
    /// is behind. Nil if no response has had a `Date` yet.
    package var ahead: Duration? { latest.withLock { $0 } }

    /// Wraps a sender and observes its responses.
    ///
    /// - Parameter now: our clock, which is compared.
    package func observing(
        now: @escaping @Sendable () -> AppStoreDate,
        _ send: @escaping @Sendable (AppStoreRequest) async throws -> AppStoreResponse
    ) -> @Sendable (AppStoreRequest) async throws -> AppStoreResponse {
        { request in
            let asked = now()
            let response = try await send(request)
            if let date = response.date { self.record(date, between: asked, and: now()) }
            return response
        }
    }

    private func record(
        _ date: AppStoreDate, between asked: AppStoreDate, and answered: AppStoreDate
    ) {
        // If the clock was set back during the request, `answered` is earlier than `asked`.
        let first = min(asked, answered).milliseconds
        let last = max(asked, answered).milliseconds
        let (earliest, latest) = (date.milliseconds, date.milliseconds + Self.dateAgeMax)
        let ahead = first > latest ? first - latest : min(0, last - earliest)
        self.latest.withLock { $0 = .milliseconds(ahead) }
    }
}
