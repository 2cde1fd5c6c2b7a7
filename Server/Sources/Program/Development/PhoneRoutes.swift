import Dashboard
import Foundation
import HTTPServer
import HTTPTypes
import Hummingbird
import Ledger
import PerennialContract
import ServiceLifecycle

/// The routes of the phone's page. They are added to the server's own router, in `perennial dev`
/// only.
struct PhoneRoutes: Sendable {
    /// The maximum size of a form, in bytes.
    static let formBytesMax = 16_384
    /// The time after which an open page that got no message gets an empty one, which keeps the
    /// connection alive.
    static let commentPause = Duration.seconds(15)
    /// The pause between two checks for changes that an open page has not caused.
    static let refreshPause = Duration.seconds(1)

    let phone: DeferredPhone
    let app: AppID
    /// The dashboard that contains the page. It serves the files that every page loads.
    let access: DashboardAccess
    let viewer: Viewer

    func add(to router: Router<ServerContext>) {
        let path = DashboardPath.phone.path
        router.get(RouterPath(path)) { request, _ in try await guarded(request, page) }
        router.post(RouterPath(path)) { request, _ in try await guarded(request, act) }
        router.get(RouterPath(path + "/live")) { request, context in
            try await guarded(request) { _, backend in try live(backend, context) }
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
    private func live(_ backend: PhoneBackend, _ context: ServerContext) throws -> Response {
        guard !backend.pages.isFull else {
            return text("Too many pages are open.", status: .serviceUnavailable)
        }
        let body = ResponseBody { writer in
            guard let page = backend.pages.open() else { return try await writer.finish(nil) }
            defer { backend.pages.close(page.number) }
            context.channel.onDeparture { backend.pages.close(page.number) }
            try await writer.write(ByteBuffer(string: "retry: 1000\n\n"))
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await Self.refresh(backend) }
                group.addTask { try await Self.touch(backend.pages, page.number) }
                for await pieces in page.pieces.cancelOnGracefulShutdown() {
                    try await writer.write(ByteBuffer(string: try Self.messages(pieces)))
                }
                group.cancelAll()
            }
            try await writer.finish(nil)
        }
        return Response(
            status: .ok, headers: EventStreams.headers, body: body)
    }

    private static func refresh(_ backend: PhoneBackend) async throws {
        while true {
            try await Task.sleep(for: refreshPause)
            // If this fails, the next action reports the problem.
            try? await backend.refresh()
        }
    }

    private static func touch(_ pages: PhonePages, _ number: Int) async throws {
        while true {
            try await Task.sleep(for: commentPause)
            pages.touch(number)
        }
    }

    /// One message for each piece, or a comment if there is no piece.
    private static func messages(_ pieces: [PhonePiece]) throws -> String {
        guard !pieces.isEmpty else { return ": nothing new\n\n" }
        // JSON that is not indented contains no line break.
        return try pieces.map {
            "data: \(String(decoding: try JSONEncoder().encode($0), as: UTF8.self))\n\n"
        }.joined()
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
