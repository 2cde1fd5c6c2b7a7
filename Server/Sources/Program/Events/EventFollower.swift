import Engine
import Ledger
import Storage

/// Reads an app's log as it grows, page after page. If there are no new events, checks again each
/// second. The cursor is the only state, so no event is missed or repeated, even if servers stop.
struct EventFollower: Sendable {
    /// The pause between two checks of a log without new events.
    static let lookPause = Duration.seconds(1)
    /// The maximum number of events that are read at once.
    static let pageMax = 100
    /// The maximum number of failed checks in a row while the database does not respond. So many
    /// checks take about an hour.
    static let failuresMax = 3_600

    let engine: Engine
    let app: AppID
    /// The customer whose events are read; nil for the events of all customers.
    var customer: CustomerID?

    /// Passes on each event, in order, until the task is cancelled. Returns the cursor after the
    /// last event.
    ///
    /// - Parameter place: the cursor after which to begin; nil for the first event.
    /// - Throws: ``StartFailure`` if the cursor does not belong to this log, or if the database
    ///   does not respond for too long. Rethrows the closure's errors.
    func run(
        after place: LogPosition?, _ pass: (LoggedEvent, LogEpochs) throws -> Void
    ) async throws -> LogPosition? {
        var (place, failures) = (place, 0)
        while !Task.isCancelled {
            switch await page(after: place) {
            case .success(let page):
                failures = 0
                for event in page.events { try pass(event, page.epochs) }
                place = page.next
                if !page.events.isEmpty { continue }
            case .failure(let failure):
                failures += 1
                try Self.report(failure, count: failures)
            }
            do { try await Task.sleep(for: Self.lookPause) } catch { break }
        }
        return place
    }

    private func page(after place: LogPosition?) async -> Result<EventPage, EngineFailure> {
        do throws(EngineFailure) {
            return .success(
                try await engine.events.page(
                    of: app, customer: customer, after: place, limit: Self.pageMax))
        } catch {
            return .failure(error)
        }
    }

    /// The cursor after the newest event.
    func lastPlace() async throws -> LogPosition? {
        try await engine.events.lastLogPosition(of: app)
    }

    private static func report(_ failure: EngineFailure, count: Int) throws(StartFailure) {
        switch failure {
        case .unknownCursor(let place):
            throw StartFailure(
                "The cursor \(place) is past the end of the log.",
                remedy: "Use a cursor of this database, or leave --after out.")
        case .outdatedCursor(let place):
            let from = place.map { "Continue with --after \($0)" } ?? "Leave --after out"
            throw StartFailure(
                "The cursor belongs to the log before a restore from a backup.",
                remedy: "\(from). docs/events.md says what to do with the events since.")
        default:
            guard count < failuresMax else {
                throw StartFailure(
                    "The log cannot be read: \(failure).", remedy: "Check that the database runs.")
            }
            if count == 1 {
                Outcome.printError("The log cannot be read now; trying again: \(failure)")
            }
        }
    }
}
