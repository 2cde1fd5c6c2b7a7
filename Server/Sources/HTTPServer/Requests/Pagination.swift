import Engine
import Hummingbird
import Storage

// Pagination: `limit` sets the page size, and `after` is the `next_cursor` of an earlier response.

extension RequestReader {
    static func limit(in request: Request, usual: Int, most: Int) throws -> Int {
        guard let text = request.uri.queryParameters["limit"] else { return usual }
        guard let limit = Int(text), (1...most).contains(limit) else {
            throw ProblemError(.limitOutOfRange(max: most))
        }
        return limit
    }

    /// Parses the cursor of a request as a position in the log. Returns nil if the request has
    /// none.
    static func logPlace(in request: Request) throws -> LogPosition? {
        try logPlace(cursor(in: request))
    }

    /// Parses a cursor as a position in the log. Returns nil if there is no cursor.
    static func logPlace(_ text: String?) throws -> LogPosition? {
        guard let text else { return nil }
        guard let place = LogPosition(text) else { throw ProblemError(.cursorUnknown) }
        return place
    }

    /// Parses the cursor of a request as a position in a list. Returns nil if the request has none.
    static func listPosition(in request: Request) throws -> ListCursor? {
        guard let text = cursor(in: request) else { return nil }
        guard let position = ListCursor(text) else { throw ProblemError(.cursorUnknown) }
        return position
    }

    private static func cursor(in request: Request) -> String? {
        guard let text = request.uri.queryParameters["after"], !text.isEmpty else { return nil }
        return String(text)
    }
}
