import HTTPTypes
import Hummingbird
import Ledger
import Synchronization
import Traces
import Tracing

/// The trace of a request. A request that records a notification begins the notification's trace,
/// and any other request continues the trace that its header `traceparent` names.
final class RequestTrace: Sendable {
    /// Routes that programs request all the time. Their spans would hide the other spans.
    private static let quietRoutes: Set = ["/health", "/ready", "/metrics"]

    private struct Notification {
        var document: DocumentID
        var isRepeat: Bool
    }

    private let notification = Mutex<Notification?>(nil)

    /// Remembers that the request has recorded a notification.
    ///
    /// - Parameter isRepeat: whether the notification was recorded before. Then its trace has a
    ///   first span already.
    func record(_ document: DocumentID, isRepeat: Bool) {
        notification.withLock { $0 = Notification(document: document, isRepeat: isRepeat) }
    }

    /// Records the span of a request that is answered. The span contains no customer's id, because
    /// it names the route and not the path.
    ///
    /// - Parameter isTrusted: whether the sender has a secret key, and so may choose whether the
    ///   trace is sent.
    func record(
        _ request: Request, route: String?, _ status: HTTPResponse.Status,
        since start: some TracerInstant, requestID: String, isTrusted: Bool,
        by traces: TraceRecorder
    ) {
        guard let route, !Self.quietRoutes.contains(route) else { return }
        let name = "\(request.method.routed.rawValue) \(route)"
        let span = startSpan(name, request, at: start, isTrusted, by: traces)
        span.attributes["http.request.method"] = request.method.routed.rawValue
        span.attributes["http.route"] = route
        span.attributes["http.response.status_code"] = Int64(status.code)
        span.attributes["perennial.request_id"] = requestID
        if status.kind == .serverError { span.setStatus(SpanStatus(code: .error)) }
        span.end(at: DefaultTracerClock.now)
    }

    private func startSpan(
        _ name: String, _ request: Request, at start: some TracerInstant, _ isTrusted: Bool,
        by traces: TraceRecorder
    ) -> RecordedSpan {
        let notification = notification.withLock { $0 }
        if let notification,
            let own = traces.context(ofDocument: notification.document.rawValue)
        {
            return notification.isRepeat
                ? traces.startSpan(name, context: .trace(own), ofKind: .server, at: start)
                : traces.startSpan(name, as: own, ofKind: .server, at: start)
        }
        var parent = request.headers[.traceparent].flatMap { TraceContext(header: $0) }
        if let context = parent, !isTrusted {
            parent?.isSampled = TraceContext.isSampled(context.trace, share: traces.share)
        }
        return traces.startSpan(name, context: .trace(parent), ofKind: .server, at: start)
    }
}

extension HTTPField.Name {
    fileprivate static let traceparent = wellFormed(TraceContext.headerName)
}
