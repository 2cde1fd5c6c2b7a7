import Dashboard
import Engine
import HTTPBasics
import HTTPTypes
import Hummingbird
import Ledger
import NIOCore
import PerennialContract

// Pages that are updated while they are open, by server-sent events (WHATWG HTML).
//
// The address of a page's stream is `/live` and the page's address, with its query. The stream
// renders the page again after each commit with events of the app, and sends the elements that
// differ, so no page needs its own function for this. The log of events does not contain some
// changes, such as delivery attempts. Pages that show such changes are rendered once a second. A
// page that takes long is rendered less often.

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
    /// The beginning of the path of a page's stream.
    static let livePrefix = "/live"

    /// The sources of a page's changes.
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
            // misses no event.
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
        let limits = server.streamLimits
        let place = try server.pageStreams.place(
            for: page.visit.viewer.name, max: limits.streamsOfOperatorMax)
        var page = page
        page.frame.notices = []
        let source = PageSource(page: page, app: app, engine: engine, source: source, html: html) {
            [access, app, engine, page] in
            let visitor = try await access.visitor(
                of: page.request, page.context, app: app, engine)
            guard case .visit(let visit) = visitor else { return false }
            return visit.viewer.role == page.frame.viewer.role
                && visit.viewer.seesMoney == page.frame.viewer.seesMoney
        }
        return LiveStream(
            source, limits.live(for: limits.pageLifeMax), tick: (),
            to: page.context.liveConnection, in: place
        ) { [engine, app] in engine.events.logSignals(of: app) }.response
    }
}

/// The changes of a page since the browser got it.
private struct PageSource: LiveSource {
    let page: PageRequest
    let app: AppID
    let engine: Engine
    let source: DashboardRoutes.Source
    let html: DashboardRoutes.Page
    /// Whether the session still exists, and the role still permits the page.
    let mayGoOn: @Sendable () async throws -> Bool

    private var shown: Shown
    /// When the page may be rendered again.
    private var earliest = ContinuousClock.now
    private var permittedAt = ContinuousClock.now

    init(
        page: PageRequest, app: AppID, engine: Engine, source: DashboardRoutes.Source,
        html: @escaping DashboardRoutes.Page, mayGoOn: @escaping @Sendable () async throws -> Bool
    ) {
        (self.page, self.app, self.engine, self.source) = (page, app, engine, source)
        (self.html, self.mayGoOn) = (html, mayGoOn)
        shown = Shown(place: page.query["place"])
    }

    mutating func output(after signal: Void) async throws -> LiveOutput {
        try await Task.sleep(until: earliest)
        if ContinuousClock.now - permittedAt >= LiveLimits.permissionMax {
            guard try await isPermitted() else { return .end }
        }
        let last = "\(try await engine.events.lastLogPosition(of: app))"
        guard shown.isDue(at: last, source) else { return .nothing }
        let messages = try await render(at: last)
        guard !messages.isEmpty else { return .nothing }
        guard try await isPermitted() else { return .end }
        var buffer = ByteBuffer()
        for message in messages {
            buffer.writeString("data: ")
            // JSON that is not indented contains no line break.
            buffer.writeBytes(try ContractEncoder().encode(message))
            buffer.writeString("\n\n")
        }
        return .events(buffer)
    }

    private mutating func isPermitted() async throws -> Bool {
        guard try await mayGoOn() else { return false }
        permittedAt = .now
        return true
    }

    private mutating func render(at last: String) async throws -> [LivePieces.Message] {
        let start = ContinuousClock.now
        var page = page
        page.frame.now = Timestamp(engine.context.serverTime)
        let messages = shown.messages(of: LivePieces(try await html(page)), at: last)
        let now = ContinuousClock.now
        earliest = now + max(LiveLimits.pauseMin, (now - start) * LiveLimits.shareOfTime)
        return messages
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
    /// date. If nothing has happened since the page was loaded, there are no messages: the browser
    /// already has the first pieces.
    mutating func messages(of new: LivePieces, at last: String) -> [LivePieces.Message] {
        let isAsLoaded = pieces == nil && place == last
        let messages = isAsLoaded ? [] : new.messages(since: pieces)
        (pieces, place, renderedAt) = (new, last, .now)
        return messages
    }
}
