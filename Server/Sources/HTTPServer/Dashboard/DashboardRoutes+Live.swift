import Dashboard
import Engine
import HTTPTypes
import Hummingbird
import Ledger
import NIOCore
import PerennialContract
import ServiceLifecycle

// Pages that are updated while they are open, by server-sent events (WHATWG HTML).
//
// The address of a page's stream is `/live` and the page's address, with its query. After each
// commit with events of the app, the stream renders the page again, and sends the elements that
// differ. So no page needs its own function for this. Some changes are in no log, such as delivery
// attempts: pages that show them are rendered once a second. A page that takes long is rendered
// less often.

/// The limits of the streams of pages.
private enum LiveLimits {
    /// The minimum time between two messages: a page changes at most twice a second.
    static let pauseMin = Duration.milliseconds(500)
    /// The maximum share of time that a stream spends on rendering: a tenth.
    static let shareOfTime = 10
    /// The time after which a page that shows only the log is rendered again even without an event.
    static let quietMax = Duration.seconds(15)
    /// The maximum time between two checks that the operator may still see the page. There is also
    /// a check before each change is sent.
    static let permissionMax = Duration.seconds(10)
}

extension DashboardRoutes {
    /// How the path of a page's stream begins.
    static let livePrefix = "/live"

    /// What causes a page to change.
    enum Source: Sendable {
        /// The page changes only by events of the app, and by the passing of time.
        case log
        /// The page can change without an event, so it is checked once a second.
        case everything
    }

    /// Adds a page that is updated while it is open.
    func livePage(
        _ path: String, by source: Source = .log, of router: Router<ServerContext>,
        _ html: @escaping Page
    ) {
        get(path, of: router) { page in
            // The position of the log is read before the page is rendered, so that the stream
            // misses nothing.
            var page = page
            page.frame.logPlace = "\(try await engine.events.lastLogPosition(of: app))"
            return response(try await html(page), to: page.request)
        }
        get(Self.livePrefix + (path == "/" ? "" : path), of: router) { page in
            // Throws if the log cannot be read. A stream without a log would only make the page
            // seem live.
            _ = try await engine.events.lastLogPosition(of: app)
            return try live(page, by: source, html)
        }
    }

    private func live(
        _ page: PageRequest, by source: Source, _ html: @escaping Page
    ) throws -> Response {
        let place = try server.pageStreams.reserve(
            for: page.visit.viewer.name, max: server.pageStreams.limits.streamsOfOperatorMax)
        var page = page
        page.frame.notices = []
        let stream = LiveStream(
            page: page, app: app, engine: engine, source: source, html: html,
            limits: server.pageStreams.limits
        ) { [access, app, engine, page] in
            let visitor = try await access.visitor(
                of: page.request, page.context, app: app, engine)
            guard case .visit(let visit) = visitor else { return false }
            return visit.viewer.role == page.frame.viewer.role
        }
        return Response(
            status: .ok, headers: EventStreams.headers, body: stream.body(in: place))
    }
}

/// One open stream of a page.
private struct LiveStream: Sendable {
    let page: PageRequest
    let app: AppID
    let engine: Engine
    let source: DashboardRoutes.Source
    let html: DashboardRoutes.Page
    let limits: EventStreamLimits
    /// Whether the session still exists, and the role still permits the page.
    let mayGoOn: @Sendable () async throws -> Bool

    func body(in place: EventStreams.Place) -> ResponseBody {
        ResponseBody { writer in
            defer { place.release() }
            let (signals, wakeUps) = engine.events.logSignals(of: app)
            let channel = page.context.channel
            channel.onDeparture {
                place.release()
                wakeUps.finish()
            }
            let end = ContinuousClock.now + limits.pageLifeMax
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { await PerennialServer.yieldPeriodically(to: wakeUps, until: end) }
                group.addTask {
                    try await gracefulShutdown()
                    wakeUps.finish()
                }
                var pace = Pace()
                var shown = Shown(place: page.query["place"])
                try await writer.write(ByteBuffer(string: "retry: 1000\n\n"))
                wakeUps.yield()
                for await _ in signals {
                    try await pace.wait()
                    if pace.isPermissionDue {
                        guard try await mayGoOn() else { break }
                        pace.permitted()
                    }
                    let start = ContinuousClock.now
                    guard let buffer = try await next(&shown, isSilent: pace.isSilent(limits))
                    else { continue }
                    if buffer.readableBytes > 0 {
                        guard try await mayGoOn() else { break }
                        pace.permitted()
                    }
                    let cut = channel.eventLoop.scheduleTask(
                        in: .milliseconds(limits.writeMax.wholeMilliseconds)
                    ) { channel.close(promise: nil) }
                    defer { cut.cancel() }
                    if buffer.readableBytes > 0 { try await writer.write(buffer) }
                    pace.rendered(since: start, wasWritten: buffer.readableBytes > 0)
                }
                group.cancelAll()
            }
            try await writer.finish(nil)
        }
    }

    /// The bytes to write now: empty if the page is unchanged, and nil if it was not rendered.
    private func next(_ shown: inout Shown, isSilent: Bool) async throws -> ByteBuffer? {
        let last = "\(try await engine.events.lastLogPosition(of: app))"
        // Clients skip this comment. It shows that the connection is alive.
        let comment = ByteBuffer(string: isSilent ? ": nothing new\n\n" : "")
        guard shown.isDue(at: last, source) else { return isSilent ? comment : nil }
        var page = page
        page.frame.now = Timestamp(engine.context.serverTime)
        let pieces = LivePieces(try await html(page))
        let messages = shown.messages(of: pieces, at: last)
        guard !messages.isEmpty else { return comment }
        var buffer = ByteBuffer()
        for message in messages {
            buffer.writeString("data: ")
            // JSON that is not indented contains no line break.
            buffer.writeBytes(try ContractEncoder().encode(message))
            buffer.writeString("\n\n")
        }
        return buffer
    }
}

/// What the browser shows at present.
private struct Shown {
    /// The position of the log when the page was rendered.
    private var place: String?
    private var pieces: LivePieces?
    private var renderedAt = ContinuousClock.now

    init(place: String?) { self.place = place }

    func isDue(at last: String, _ source: DashboardRoutes.Source) -> Bool {
        switch source {
        case .everything: true
        case .log:
            pieces == nil || last != place
                || ContinuousClock.now - renderedAt >= LiveLimits.quietMax
        }
    }

    /// Records that new pieces were rendered, and returns the messages that bring the browser up to
    /// date. If nothing has happened since the page was loaded, there are none: the browser already
    /// has the first pieces.
    mutating func messages(of new: LivePieces, at last: String) -> [LivePieces.Message] {
        let isAsLoaded = pieces == nil && place == last
        let messages = isAsLoaded ? [] : new.messages(since: pieces)
        (pieces, place, renderedAt) = (new, last, .now)
        return messages
    }
}

/// Decides when a stream may render again.
private struct Pace {
    private var earliest = ContinuousClock.now
    private var writtenAt = ContinuousClock.now
    private var permittedAt = ContinuousClock.now

    /// Whether the permission to see the page must be checked again.
    var isPermissionDue: Bool {
        ContinuousClock.now - permittedAt >= LiveLimits.permissionMax
    }

    mutating func permitted() { permittedAt = .now }

    func wait() async throws { try await Task.sleep(until: earliest) }

    /// Whether nothing was written for so long that a comment is due.
    func isSilent(_ limits: EventStreamLimits) -> Bool {
        ContinuousClock.now - writtenAt >= limits.commentPause
    }

    mutating func rendered(since start: ContinuousClock.Instant, wasWritten: Bool) {
        let now = ContinuousClock.now
        earliest = now + max(LiveLimits.pauseMin, (now - start) * LiveLimits.shareOfTime)
        if wasWritten { writtenAt = now }
    }
}
