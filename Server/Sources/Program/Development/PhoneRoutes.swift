import Dashboard
import Foundation
import HTTPBasics
import HTTPServer
import HTTPTypes
import Hummingbird
import Ledger
import PerennialContract

/// The routes of the phone's page. These routes are added to the server's own router, in
/// `perennial dev` only.
struct PhoneRoutes: Sendable {
    /// The maximum size of a form, in bytes.
    static let formBytesMax = 16_384
    /// The pause between two checks for changes that an open page has not caused.
    static let refreshPause = Duration.seconds(1)

    let phone: DeferredPhone
    let app: AppID
    /// The dashboard that contains the page. The dashboard serves the files that every page loads.
    let access: DashboardAccess
    let viewer: Viewer

    func add(to router: Router<ServerContext>) {
        let path = DashboardPath.phone.path
        router.get(RouterPath(path)) { request, _ in try await guarded(request, page) }
        router.post(RouterPath(path)) { request, _ in try await guarded(request, act) }
        router.get(RouterPath(path + "/live")) { request, context in
            try await guarded(request) { _, backend in live(backend, context) }
        }
        router.add(PhonePage.script)
    }

    private typealias Answer = @Sendable (Request, PhoneBackend) async throws -> Response

    private func guarded(
        _ request: Request, _ respond: @escaping Answer
    ) async throws -> Response {
        if let refusal = access.origin.refusal(of: request.head) {
            return text(refusal, status: .forbidden)
        }
        guard let backend = phone.backend else {
            return text(
                "The simulator is starting. Load the page again.", status: .serviceUnavailable)
        }
        do { return try await respond(request, backend) } catch let refusal as PhoneBackend.Refusal
        {
            return text(refusal.sentence, status: .conflict)
        }
    }

    // MARK: - Page and acts

    @Sendable private func page(_ request: Request, _ backend: PhoneBackend) async throws
        -> Response
    {
        let state = try await backend.current()
        let frame = Frame(
            viewer: viewer, app: app.rawValue, now: state.now,
            theme: request.cookie("theme").flatMap(Frame.Theme.init), isSimulated: true)
        return Response(dashboardPage: PhonePage(state).html(in: frame))
    }

    /// Carries out an action. The answer to a script is the changed pieces; the answer to a form is
    /// the page.
    @Sendable private func act(_ request: Request, _ backend: PhoneBackend) async throws -> Response
    {
        let body = try await request.body.collect(upTo: Self.formBytesMax)
        let form = FormFields(String(decoding: body.readableBytesView, as: UTF8.self))
        guard let act = form["act"].flatMap({ PhoneAct(name: $0) }) else {
            return text("There is no such act.", status: .badRequest)
        }
        let state = try await backend.perform(act)
        guard request.headers[.accept] == "application/json" else {
            return Response(
                status: .seeOther, headers: [.location: DashboardPath.phone.path])
        }
        let pieces = try JSONEncoder().encode(PhonePiece.all(of: state))
        return text(String(decoding: pieces, as: UTF8.self), type: "application/json")
    }

    // MARK: - Live

    /// Sends the pieces that change, as server-sent events, until the page is closed or the server
    /// stops.
    private func live(_ backend: PhoneBackend, _ context: ServerContext) -> Response {
        let pages = backend.pages
        guard let place = pages.reserve() else {
            return text("Too many pages are open.", status: .serviceUnavailable)
        }
        return LiveStream(
            PhonePageSource(pages: pages), LiveStreamLimits(), tick: (),
            to: context.liveConnection, in: place, beside: { await Self.refresh(backend) }
        ) { pages.signals() }.response
    }

    /// Checks for changes until the task is cancelled. The stream itself does not check, because it
    /// must send the first pieces of a long action while the check waits for the action's end.
    private static func refresh(_ backend: PhoneBackend) async {
        while true {
            do { try await Task.sleep(for: refreshPause) } catch { return }
            // A problem is reported by the next action.
            try? await backend.refresh()
        }
    }

    // MARK: - Responses

    private func text(
        _ text: String, status: HTTPResponse.Status = .ok,
        type: String = "text/plain; charset=utf-8"
    ) -> Response {
        Response(
            status: status, headers: [.contentType: type],
            body: ResponseBody(byteBuffer: ByteBuffer(string: text)))
    }
}
