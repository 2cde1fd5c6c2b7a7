import Engine
import Hummingbird

// Pagination: `limit` sets the page size, and `after` is the `next_cursor` of an earlier response.

extension PerennialServer {
    static func limit(in request: Request, usual: Int, most: Int) throws -> Int {
        guard let text = request.uri.queryParameters["limit"] else { return usual }
        guard let limit = Int(text), (1...most).contains(limit) else {
            throw ProblemError(
                .limitOutOfRange, "limit must be between 1 and \(most).",
                remedy: "Send a limit from 1 to \(most).")
        }
        return limit
    }

    /// Parses a cursor that is a place in the log. Returns nil if the request has none.
    static func logPlace(in request: Request) throws -> LogPosition? {
        guard let text = cursor(in: request) else { return nil }
        guard let place = LogPosition(text) else { throw ProblemError.unknownCursor }
        return place
    }

    /// Parses a cursor that is a position in a list. Returns nil if the request has none.
    static func listPosition(in request: Request) throws -> ListCursor? {
        guard let text = cursor(in: request) else { return nil }
        guard let position = ListCursor(text) else { throw ProblemError.unknownCursor }
        return position
    }

    private static func cursor(in request: Request) -> String? {
        guard let text = request.uri.queryParameters["after"], !text.isEmpty else { return nil }
        return String(text)
    }
}

extension ProblemError {
    static var unknownCursor: ProblemError {
        ProblemError(
            .cursorUnknown, "The cursor is not valid.",
            remedy: "Send next_cursor from a response unchanged, or leave it out to start.")
    }

    /// - Parameter place: the last place up to which the log is still the one that the cursor
    ///   belongs to.
    static func outdatedCursor(goOnFrom place: LogPosition?) -> ProblemError {
        guard let place else {
            return ProblemError(
                .cursorOutdated, "The cursor belongs to a log that was lost.",
                detail: "The database was restored from a backup that is older than this cursor.",
                remedy: "Read from the beginning, without after. Skip the events whose id you "
                    + "know, and undo what you did for events that no longer exist.")
        }
        return ProblemError(
            .cursorOutdated, "The cursor belongs to the log before a restore from a backup.",
            detail: "Up to event \(place.sequence) the log is the one that you have read.",
            remedy: "Undo what you did for events after that one, and continue with "
                + "after=\(place); or read from the beginning, without after.")
    }
}
