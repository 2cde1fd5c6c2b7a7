import Ledger
import Storage
import Traces
import Tracing

// The spans of deliveries.
extension WebhookService {
    /// Starts the span of an attempt to deliver an event. If a document caused the event, the span
    /// belongs to the trace of the request that recorded the document. Returns nil if no traces are
    /// sent.
    func span(of lease: DeliveryLease, to webhook: WebhookEndpoint) async -> RecordedSpan? {
        guard let traces = context.traces else { return nil }
        let event = try? await context.read { tx in
            try tx.events.find(lease.sequence, of: webhook.app)
        }
        var parent: TraceContext?
        if case .document(let digest) = event?.entry.cause {
            parent = traces.context(ofDocument: DocumentID(bytes: digest).rawValue)
        }
        let span = traces.startSpan(
            "deliver webhook", context: .trace(parent), ofKind: .client,
            at: DefaultTracerClock.now)
        span.attributes["perennial.app"] = webhook.app.rawValue
        span.attributes["perennial.webhook"] = webhook.id.rawValue
        span.attributes["perennial.attempt"] = Int64(lease.tries + 1)
        if let event {
            span.attributes["perennial.event"] = event.entry.change.kind.rawValue
        }
        return span
    }
}

extension RecordedSpan {
    /// Ends the span of a delivery. If there was no attempt, the span is not sent.
    func record(_ answer: WebhookAnswer) {
        switch answer {
        case .answer(let status, _, _):
            attributes["http.response.status_code"] = Int64(status)
            if !answer.isAccepted { setStatus(SpanStatus(code: .error)) }
        case .failure(let reason): setStatus(SpanStatus(code: .error, message: reason))
        case .notAttempted: return
        }
        end(at: DefaultTracerClock.now)
    }
}
