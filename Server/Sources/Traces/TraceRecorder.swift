import Instrumentation
import ServiceContextModule
import Synchronization
import Tracing

/// A tracer that keeps the ended spans until ``drain(max:)`` takes them.
package final class TraceRecorder: Tracer {
    /// The maximum number of spans that wait. Further spans are dropped and counted: an unreachable
    /// collector must not use up memory.
    package static let spansMax = 4_096

    /// The share of traces that are recorded, from 0 to 1.
    package let share: Double
    private let waiting = Mutex(Waiting())

    private struct Waiting {
        var spans: [FinishedSpan] = []
        var dropped = 0
    }

    package init(share: Double) { self.share = share }

    /// The context of the request that recorded a document.
    ///
    /// - Parameter document: the id of the document, in hexadecimal.
    package func context(ofDocument document: String) -> TraceContext? {
        TraceContext(document: document, share: share)
    }

    /// A new trace, without a parent.
    package func newTrace() -> TraceContext {
        var random = SystemRandomNumberGenerator()
        while true {
            let trace = Self.id(TraceContext.traceBytes, by: &random)
            if let context = TraceContext(
                trace: trace, span: Self.id(TraceContext.spanBytes, by: &random),
                isSampled: TraceContext.isSampled(trace, share: share))
            {
                return context
            }
        }
    }

    fileprivate static func id(_ count: Int, by random: inout some RandomNumberGenerator) -> [UInt8]
    {
        (0..<count).map { _ in UInt8.random(in: .min ... .max, using: &random) }
    }

    // MARK: - Tracer

    package func startSpan<Instant: TracerInstant>(
        _ operationName: String, context: @autoclosure () -> ServiceContext,
        ofKind kind: SpanKind, at instant: @autoclosure () -> Instant, function: String,
        file fileID: String, line: UInt
    ) -> RecordedSpan {
        let parent = context().trace
        let fresh = newTrace()
        let own =
            parent.flatMap {
                TraceContext(trace: $0.trace, span: fresh.span, isSampled: $0.isSampled)
            } ?? fresh
        return RecordedSpan(
            operationName, own, parent: parent?.span, kind: kind,
            start: instant().nanosecondsSinceEpoch, recorder: self)
    }

    /// Starts the span of the request that recorded a document. Its ids follow from the document,
    /// so that the spans of the document's consequences name it as their parent.
    ///
    /// - Parameter context: see ``context(ofDocument:)``.
    package func startSpan(
        _ name: String, as context: TraceContext, ofKind kind: SpanKind,
        at instant: some TracerInstant
    ) -> RecordedSpan {
        RecordedSpan(
            name, context, parent: nil, kind: kind, start: instant.nanosecondsSinceEpoch,
            recorder: self)
    }

    package func forceFlush() {}

    package func extract<Carrier, Extract: Extractor>(
        _ carrier: Carrier, into context: inout ServiceContext, using extractor: Extract
    ) where Extract.Carrier == Carrier {
        context.trace = extractor.extract(key: TraceContext.headerName, from: carrier)
            .flatMap { TraceContext(header: $0) }
    }

    package func inject<Carrier, Inject: Injector>(
        _ context: ServiceContext, into carrier: inout Carrier, using injector: Inject
    ) where Inject.Carrier == Carrier {
        guard let trace = context.trace else { return }
        injector.inject(trace.header, forKey: TraceContext.headerName, into: &carrier)
    }

    // MARK: - Ended spans

    fileprivate func append(_ span: FinishedSpan) {
        waiting.withLock { waiting in
            if waiting.spans.count < Self.spansMax {
                waiting.spans.append(span)
            } else {
                waiting.dropped += 1
            }
        }
    }

    /// Takes the oldest spans that wait.
    package func drain(max: Int) -> [FinishedSpan] {
        waiting.withLock { waiting in
            let taken = Array(waiting.spans.prefix(max))
            waiting.spans.removeFirst(taken.count)
            return taken
        }
    }

    /// Counts spans that could not be sent.
    package func drop(_ count: Int) { waiting.withLock { $0.dropped += count } }

    /// How many spans were dropped since the start.
    package var dropped: Int { waiting.withLock { $0.dropped } }
}

/// A span of a ``TraceRecorder``.
package final class RecordedSpan: Span {
    package let trace: TraceContext
    private let parent: [UInt8]?
    private let kind: SpanKind
    private let start: UInt64
    private let recorder: TraceRecorder
    private let state: Mutex<State>

    private struct State {
        var name: String
        var attributes: SpanAttributes = [:]
        var status: SpanStatus?
        var hasEnded = false
    }

    fileprivate init(
        _ name: String, _ trace: TraceContext, parent: [UInt8]?, kind: SpanKind, start: UInt64,
        recorder: TraceRecorder
    ) {
        state = Mutex(State(name: name))
        self.trace = trace
        self.parent = parent
        self.kind = kind
        self.start = start
        self.recorder = recorder
    }

    package var context: ServiceContext { .trace(trace) }
    package var isRecording: Bool { trace.isSampled && !state.withLock { $0.hasEnded } }

    package var operationName: String {
        get { state.withLock { $0.name } }
        set { state.withLock { $0.name = newValue } }
    }

    package var attributes: SpanAttributes {
        get { state.withLock { $0.attributes } }
        set { state.withLock { $0.attributes = newValue } }
    }

    package func setStatus(_ status: SpanStatus) { state.withLock { $0.status = status } }

    /// Events inside of a span are not sent.
    package func addEvent(_ event: SpanEvent) {}

    /// Records only that the operation failed, because the text of an error may contain an id.
    package func recordError<Instant: TracerInstant>(
        _ error: any Error, attributes: SpanAttributes, at instant: @autoclosure () -> Instant
    ) { setStatus(SpanStatus(code: .error)) }

    /// Links are not sent.
    package func addLink(_ link: SpanLink) {}

    package func end<Instant: TracerInstant>(at instant: @autoclosure () -> Instant) {
        let end = instant().nanosecondsSinceEpoch
        let ended = state.withLock { state -> State? in
            guard !state.hasEnded else { return nil }
            state.hasEnded = true
            return state
        }
        guard trace.isSampled, let ended else { return }
        var attributes: [FinishedSpan.Attribute] = []
        ended.attributes.forEach { name, value in
            if let value = FinishedSpan.Value(value) { attributes.append(.init(name, value)) }
        }
        recorder.append(
            FinishedSpan(
                trace: trace.trace, span: trace.span, parent: parent, name: ended.name,
                kind: FinishedSpan.Kind(kind), start: start, end: max(start, end),
                attributes: attributes.sorted { $0.name < $1.name },
                isError: ended.status?.code == .error, message: ended.status?.message ?? ""))
    }
}
