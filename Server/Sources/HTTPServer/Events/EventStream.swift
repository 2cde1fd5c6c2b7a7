import Engine
import HTTPTypes
import Hummingbird
import Ledger
import NIOCore
import PerennialContract
import ServiceLifecycle
import Storage

// The log as server-sent events (WHATWG HTML, "Server-sent events").
//
// A stream stores only the cursor of its last event. It reads a page of events, writes the page,
// and reads the next one only when the connection has accepted the first. So a slow reader costs no
// memory. It is disconnected after `writeMax`, and continues with `Last-Event-ID`. The stream wakes
// up after each commit of this server, and once a second for the commits of other servers.

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
        let place = try server.streams.reserve(
            for: "key \(Hexadecimal.text(holder.hash))", max: server.streams.limits.streamsOfKeyMax)
        // An invalid cursor gives a problem, not a stream.
        _ = try await eventPage(query, after: after)
        query.limit = server.streams.limits.pageMax
        let stream = EventStream(query, after: after, left: left, limits: server.streams.limits)
        return Response(
            status: .ok, headers: EventStreams.headers,
            body: body(of: stream, in: place, request, context.channel))
    }

    private func body(
        of begun: EventStream, in place: EventStreams.Place, _ request: Request,
        _ channel: any Channel
    ) -> ResponseBody {
        ResponseBody { writer in
            defer { place.release() }
            let (signals, wakeUps) = engine.events.logSignals(of: begun.query.app)
            channel.onDeparture {
                place.release()
                wakeUps.finish()
            }
            let end = ContinuousClock.now + server.streams.limits.lifeMax
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { await PerennialServer.yieldPeriodically(to: wakeUps, until: end) }
                group.addTask {
                    try await gracefulShutdown()
                    wakeUps.finish()
                }
                var stream = begun
                try await writer.write(ByteBuffer(string: EventStream.opening))
                wakeUps.yield()
                for await _ in signals {
                    while let buffer = try await next(of: &stream, request) {
                        let cut = stream.cut(channel)
                        defer { cut.cancel() }
                        try await writer.write(buffer)
                    }
                    if stream.isOver { wakeUps.finish() }
                }
                group.cancelAll()
            }
            try await writer.finish(nil)
        }
    }

    /// The bytes to write next; nil if there are none now.
    ///
    /// - Throws: ``ProblemError`` if the key has expired since the stream began, or if the cursor
    ///   is no longer valid because the log was restored from a backup. The response has already
    ///   begun, so the client gets the problem when it connects again.
    private func next(of stream: inout EventStream, _ request: Request) async throws -> ByteBuffer?
    {
        guard !stream.isOver else { return nil }
        if stream.isKeyCheckDue {
            _ = try await server.authorization.holder(of: request, for: .read)
            stream.keyIsValid()
        }
        let page = try await eventPage(stream.query, after: stream.cursor)
        if !page.events.isEmpty { return try stream.buffer(of: page) }
        return stream.isSilent ? stream.comment() : nil
    }
}

/// One open stream: what it reads, and its position in the log.
private struct EventStream: Sendable {
    /// Sent immediately, so that the client sees that the stream is open. The number is the time in
    /// milliseconds after which the client reconnects.
    static let opening = "retry: 1000\n\n"

    let query: EventQuery
    private(set) var cursor: LogPosition?
    /// How many events are left until the stream ends; nil if the number of events does not end it.
    private var left: Int?
    private let limits: EventStreamLimits
    private var writtenAt = ContinuousClock.now
    private var checkedAt = ContinuousClock.now

    init(_ query: EventQuery, after cursor: LogPosition?, left: Int?, limits: EventStreamLimits) {
        (self.query, self.cursor, self.left, self.limits) = (query, cursor, left, limits)
    }

    var isOver: Bool { left == 0 }
    /// Whether nothing was written for so long that a comment is due.
    var isSilent: Bool { ContinuousClock.now - writtenAt >= limits.commentPause }
    /// Whether the key must be looked up before more events are read.
    var isKeyCheckDue: Bool { ContinuousClock.now - checkedAt >= limits.keyPause }

    /// Records that the key is valid at this moment.
    mutating func keyIsValid() { checkedAt = .now }

    /// The events of a page. The stream continues after them.
    mutating func buffer(of page: EventPage) throws -> ByteBuffer {
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
        writtenAt = .now
        return buffer
    }

    /// Clients skip this comment. It shows that the connection is alive.
    mutating func comment() -> ByteBuffer {
        writtenAt = .now
        return ByteBuffer(string: ": nothing new\n\n")
    }

    /// Closes a connection that does not accept the current output in time. The caller cancels this
    /// when the output is accepted.
    func cut(_ channel: any Channel) -> Scheduled<Void> {
        channel.eventLoop.scheduleTask(in: .milliseconds(limits.writeMax.wholeMilliseconds)) {
            channel.close(promise: nil)
        }
    }
}

extension HTTPField.Name {
    /// The last event that a client has received. The client sends it when it connects again.
    fileprivate static let lastEventID = wellFormed("Last-Event-ID")
}
