import Engine
import HTTPBasics
import HTTPTypes
import Hummingbird
import Ledger
import NIOCore
import PerennialContract
import Storage

// The log as server-sent events (WHATWG HTML, "Server-sent events"). A stream stores only the
// cursor of its last event. The stream reads a page of events, and reads the next one only when the
// connection has accepted the first. The stream wakes up after each commit of this server, and once
// a second for the commits of other servers.

extension EventRoutes {
    /// Sends the events after a cursor, and then each new one, until the client closes the
    /// connection, the key expires, the server stops, or the stream is `lifeMax` old.
    @Sendable func stream(
        _ request: Request, _ context: ServerContext, _ holder: StoredKey
    ) async throws -> Response {
        let asked = request.headers[.lastEventID].flatMap { $0.isEmpty ? nil : $0 }
        let after = try RequestReader.logPlace(asked) ?? RequestReader.logPlace(in: request)
        var query = EventQuery(
            app: holder.app, customer: Self.customer(in: request), limit: 1)
        let left: Int? =
            if request.uri.queryParameters["limit"] == nil { nil } else {
                try RequestReader.limit(in: request, usual: 1, most: EventService.eventsMax)
            }
        let limits = server.streamLimits
        let place = try server.streams.place(
            for: holder, max: limits.streamsOfKeyMax, server.refusals)
        // An invalid cursor gives a problem, not a stream.
        _ = try await eventPage(query, after: after)
        query.limit = limits.pageMax
        let log = EventLogSource(
            routes: self, request: request, query: query, cursor: after, left: left)
        return LiveStream(
            log, limits.live(for: limits.lifeMax), tick: (), to: context.liveConnection, in: place
        ) { [engine] in engine.events.logSignals(of: holder.app) }.response
    }
}

/// The events that a stream has not sent yet.
private struct EventLogSource: LiveSource {
    let routes: EventRoutes
    let request: Request
    let query: EventQuery
    /// The position in the log up to which events were sent; nil if none were sent.
    private var cursor: LogPosition?
    /// The number of events after which the stream ends; nil if the stream has no such limit.
    private var left: Int?
    private var checkedAt = ContinuousClock.now

    init(
        routes: EventRoutes, request: Request, query: EventQuery, cursor: LogPosition?, left: Int?
    ) {
        (self.routes, self.request, self.query) = (routes, request, query)
        (self.cursor, self.left) = (cursor, left)
    }

    /// - Throws: ``ProblemError`` if the key has expired since the stream began, or if the cursor
    ///   is no longer valid because the log was restored from a backup. The response has already
    ///   begun. So the client gets the problem only when it connects again.
    mutating func output(after signal: Void) async throws -> LiveOutput {
        // The key must be looked up before more events are read.
        if ContinuousClock.now - checkedAt >= routes.server.streamLimits.keyPause {
            _ = try await routes.server.authorization.holder(of: request, for: .read)
            checkedAt = .now
        }
        let page = try await routes.eventPage(query, after: cursor)
        guard !page.events.isEmpty else { return .nothing }
        let bytes = try buffer(of: page)
        return .events(bytes, next: left == 0 ? .never : .atOnce)
    }

    /// The events of a page. The stream continues after these events.
    private mutating func buffer(of page: EventPage) throws -> ByteBuffer {
        let events = page.events.prefix(left ?? .max)
        var buffer = ByteBuffer()
        for event in events {
            let shown = Event(event, in: page.epochs)
            let cursor = LogPosition(page.epochs.current, event.sequence)
            buffer.writeString("id: \(cursor)\nevent: \(shown.type.rawValue)\ndata: ")
            // JSON that is not indented contains no line break.
            buffer.writeBytes(try ContractEncoder().encode(shown))
            buffer.writeString("\n\n")
        }
        (cursor, left) = (page.next, left.map { $0 - events.count })
        return buffer
    }
}

extension HTTPField.Name {
    /// The last event that a client has received. The client sends this header when it connects
    /// again.
    fileprivate static let lastEventID = wellFormed("Last-Event-ID")
}
