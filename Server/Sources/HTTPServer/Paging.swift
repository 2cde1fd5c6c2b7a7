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

    /// A cursor that is the number of what is known already; 0 where none was sent.
    static func numberedCursor(in request: Request) throws -> Int {
        guard let text = cursor(in: request) else { return 0 }
        guard let number = Int(text), number >= 0, text.first != "+" else {
            throw Refused.unknownCursor
        }
        return number
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
            remedy: "Send next_cursor of an answer as it is, or nothing to begin. Where the "
                + "database is an older backup, read what it has from the beginning.")
    }
}
