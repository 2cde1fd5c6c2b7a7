import AppStoreFormats
import Synchronization

/// How far our clock is from the App Store's, by the `Date` of its last answer, whatever it said.
///
/// That is cut to seconds, some servers write it anew only once a second, and it was written at any
/// moment between question and answer. Only what none of these explains is a difference: so the
/// true one is as great or greater.
package final class ClockDistance: Sendable {
    /// So much later than its `Date` an answer may be written, in milliseconds.
    private static let dateAgeMax: Int64 = 2_000

    private let latest = Mutex<Duration?>(nil)

    package init() {}

    /// By how much our clock is ahead at least; below zero: behind. Nil where no answer has had a
    /// `Date` yet.
    package var ahead: Duration? { latest.withLock { $0 } }

    /// The same sender, whose answers are looked at.
    ///
    /// - Parameter now: the clock that is compared.
    package func noting(
        now: @escaping @Sendable () -> AppStoreDate,
        _ send: @escaping @Sendable (AppStoreRequest) async throws -> AppStoreResponse
    ) -> @Sendable (AppStoreRequest) async throws -> AppStoreResponse {
        { request in
            let asked = now()
            let response = try await send(request)
            if let date = response.date { self.note(date, between: asked, and: now()) }
            return response
        }
    }

    private func note(
        _ date: AppStoreDate, between asked: AppStoreDate, and answered: AppStoreDate
    ) {
        // A clock that is set meanwhile may go back.
        let first = min(asked, answered).milliseconds
        let last = max(asked, answered).milliseconds
        let (earliest, latest) = (date.milliseconds, date.milliseconds + Self.dateAgeMax)
        let ahead = first > latest ? first - latest : min(0, last - earliest)
        self.latest.withLock { $0 = .milliseconds(ahead) }
    }
}
