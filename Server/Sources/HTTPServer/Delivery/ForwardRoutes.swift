import Engine
import HTTPBasics
import Hummingbird
import Ledger
import PerennialContract
import Storage

/// The routes that list and retry forwarded notifications.
struct ForwardRoutes: RouteGroup {
    let server: PerennialServer

    var all: [Route] {
        [
            server.secret(
                for: .read,
                OpenAPIOperation(
                    .get, Paths.forwards, "forwards",
                    "Notifications forwarded to other addresses, newest first",
                    description: """
                        docs/forwarding.md says what is forwarded, and how often it is tried.
                        """,
                    parameters: [
                        OpenAPIParameter(
                            name: "state", description: "Only forwards in this state.",
                            schema: [
                                "type": "string",
                                "enum": .list(Forward.State.known.map { .text($0.rawValue) }),
                            ]),
                        .after,
                        .limit(usual: Self.forwardsDefault, most: ForwardingService.forwardsMax),
                    ], output: .json(ForwardList.self)), list),
            server.secret(
                for: .admin,
                OpenAPIOperation(
                    .post, "/v1/forwards/{document_id}/retry", "retryForwards",
                    "Retry a notification whose forwarding was given up",
                    description: """
                        Idempotent: a forward that waits or was accepted does not change. See \
                        docs/forwarding.md.
                        """, output: .json(ForwardList.self)), retry),
        ]
    }

    /// The number of forwards on a page if the request sets no limit.
    static let forwardsDefault = 100

    /// Lists notifications that were forwarded or wait to be forwarded, newest first.
    @Sendable func list(
        _ request: Request, _ context: ServerContext, _ holder: StoredKey
    ) async throws -> Response {
        let asked = request.uri.queryParameters
        let limit = try RequestReader.limit(
            in: request, usual: Self.forwardsDefault, most: ForwardingService.forwardsMax)
        return try JSONResponse.ok(
            try await list(
                of: holder.app, in: asked["state"].map { String($0) },
                after: asked["after"].map { String($0) }, limit: limit))
    }

    /// A page of an app's forwards, newest first.
    ///
    /// - Parameter state: a word of ``PerennialContract/Forward/State``; nil for all.
    func list(
        of app: AppID, in state: String? = nil, after cursor: String?,
        limit: Int = forwardsDefault
    ) async throws -> ForwardList {
        let position = try await position(cursor, app)
        let forwards = try await engine.forwarding.all(
            of: app, in: try Self.state(state), after: position, limit: limit)
        let last = forwards.count == limit ? forwards.last : nil
        return ForwardList(
            items: forwards.map { forward($0, app) },
            nextCursor: last.map { Self.cursor(ForwardPosition(after: $0)) })
    }

    /// Schedules another attempt of each forward that was given up, for one document.
    @Sendable func retry(
        _ request: Request, _ context: ServerContext, _ holder: StoredKey
    ) async throws -> Response {
        let name = context.parameters.get("document_id") ?? ""
        return try JSONResponse.ok(try await retry(ofDocument: name, app: holder.app))
    }

    func retry(ofDocument name: String, app: AppID) async throws -> ForwardList {
        let document = name.utf8.count == Self.documentDigits ? Hexadecimal.bytes(name) : nil
        var forwards: [StoredForward] = []
        if let document {
            forwards = try await engine.forwarding.retryAll(of: document, app: app)
        }
        guard !forwards.isEmpty else {
            throw ProblemError(.forwardUnknown)
        }
        return ForwardList(items: forwards.map { forward($0, app) }, nextCursor: nil)
    }

    /// The length of a SHA-256 in hexadecimal.
    private static let documentDigits = 64

    private static func state(_ text: String?) throws -> StoredForward.State? {
        guard let text else { return nil }
        guard let state = StoredForward.State(rawValue: text) else {
            throw ProblemError(
                .stateUnknown(known: StoredForward.State.allCases.map(\.rawValue)))
        }
        return state
    }

    // MARK: - Cursors

    /// Creation time, document, and the digest of the address, each as hexadecimal digits.
    private static func cursor(_ position: ForwardPosition) -> String {
        [
            String(position.createdAt.milliseconds, radix: 16), Hexadecimal.text(position.document),
            // Uses a digest, because the address itself may contain a secret.
            ForwardLabel.digest(of: position.target),
        ].joined(separator: "-")
    }

    private func position(
        _ cursor: String?, _ app: AppID
    ) async throws -> ForwardPosition? {
        guard let cursor, !cursor.isEmpty else { return nil }
        let parts = cursor.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 3, let moment = Int64(parts[0], radix: 16),
            let document = Hexadecimal.bytes(parts[1]),
            parts[1].count == Self.documentDigits, Hexadecimal.bytes(parts[2]) != nil,
            parts[2].count == ForwardLabel.digestDigits
        else {
            throw ProblemError(.cursorUnknown)
        }
        return try await engine.forwarding.position(
            createdAt: Instant(milliseconds: moment), document: document,
            targetDigest: String(parts[2]),
            app: app)
    }

    private func forward(_ stored: StoredForward, _ app: AppID) -> PerennialContract.Forward {
        PerennialContract.Forward(
            stored, label: engine.forwarding.forwardLabel(of: stored.target, in: app))
    }
}

extension PerennialContract.Forward {
    /// Converts the engine's forward to the contract's form.
    fileprivate init(_ forward: StoredForward, label: String) {
        self.init(
            documentID: DocumentID(bytes: forward.document).rawValue, url: label,
            environment: StoreEnvironment(forward.environment),
            state: State(rawValue: forward.state.rawValue),
            createdAt: Timestamp(forward.createdAt), attempts: forward.attempts,
            lastAttemptAt: forward.attemptedAt.map { Timestamp($0) }, lastStatus: forward.status,
            lastTrouble: forward.lastError, nextAttemptAt: forward.dueAt.map { Timestamp($0) },
            acceptedAt: forward.acceptedAt.map { Timestamp($0) })
    }
}
