import Engine
import Hummingbird

// Lists in pieces: `limit` of them `after` what an earlier answer named as its `next_cursor`.

extension PerennialServer {
    static func limit(in request: Request, usual: Int, most: Int) throws -> Int {
        guard let text = request.uri.queryParameters["limit"] else { return usual }
        guard let limit = Int(text), (1...most).contains(limit) else {
            throw Refused(
                .limitOutOfRange, "So many cannot be asked for.",
                remedy: "Use a limit from 1 to \(most).")
        }
        return limit
    }

    /// A cursor that is a place in the log; nil where none was sent.
    static func logPlace(in request: Request) throws -> LogPlace? {
        guard let text = cursor(in: request) else { return nil }
        guard let place = LogPlace(text) else { throw Refused.unknownCursor }
        return place
    }

    /// A cursor that is a place in a list; nil where none was sent.
    static func listPosition(in request: Request) throws -> ListPosition? {
        guard let text = cursor(in: request) else { return nil }
        guard let position = ListPosition(text) else { throw Refused.unknownCursor }
        return position
    }

    private static func cursor(in request: Request) -> String? {
        guard let text = request.uri.queryParameters["after"], !text.isEmpty else { return nil }
        return String(text)
    }
}

extension Refused {
    static var unknownCursor: Refused {
        Refused(
            .cursorUnknown, "There is no such cursor.",
            remedy: "Send next_cursor of an answer as it is, or nothing to begin.")
    }

    /// - Parameter place: up to there the log is still the one that the cursor is of.
    static func outdatedCursor(goOnFrom place: LogPlace?) -> Refused {
        guard let place else {
            return Refused(
                .cursorOutdated, "The cursor is of a log that was lost.",
                detail: "The database was restored from a backup that is older than this cursor.",
                remedy: "Read from the beginning, without after; skip the events whose id you "
                    + "know, and take back what you did for events that are not told any more.")
        }
        return Refused(
            .cursorOutdated, "The cursor is of the log before a restore from a backup.",
            detail: "Up to event \(place.sequence) the log is the one that you have read.",
            remedy: "Take back what you did for later events than that one, and go on with "
                + "after=\(place); or read from the beginning, without after.")
    }
}
