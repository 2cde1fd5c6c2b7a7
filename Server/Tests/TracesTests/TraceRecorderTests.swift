import ServiceContextModule
import Testing
import Tracing

@testable import Traces

@Suite struct TraceRecorderTests {
    private static let now = DefaultTracerClock.now

    private static func context(_ isSampled: Bool) throws -> TraceContext {
        try #require(
            TraceContext(
                header: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-0\(isSampled ? 1 : 0)"
            ))
    }

    @Test func `a span continues the trace of its context, and ends once`() throws {
        let recorder = TraceRecorder(share: 1)
        let parent = try Self.context(true)
        let span = recorder.startSpan(
            "work", context: .trace(parent), ofKind: .client, at: Self.now)
        span.attributes["number"] = 7
        span.setStatus(SpanStatus(code: .error, message: "no response"))
        span.end(at: Self.now)
        span.end(at: Self.now)
        let ended = recorder.drain(max: 10)
        let one = try #require(ended.first)
        #expect(ended.count == 1 && recorder.drain(max: 10).isEmpty)
        #expect(one.trace == parent.trace && one.parent == parent.span && one.span != parent.span)
        #expect(one.isError && one.message == "no response" && one.kind == .client)
        #expect(one.attributes == [.init("number", .integer(7))])
        #expect(span.context.trace == span.trace)
    }

    @Test func `a span of a trace that is not sampled is not kept`() throws {
        let recorder = TraceRecorder(share: 1)
        let context = try Self.context(false)
        let span = recorder.startSpan(
            "work", context: .trace(context), ofKind: .internal, at: Self.now)
        #expect(!span.isRecording)
        span.end(at: Self.now)
        #expect(recorder.drain(max: 10).isEmpty)
    }

    @Test func `spans beyond the limit are dropped and counted`() {
        let recorder = TraceRecorder(share: 1)
        for _ in 0..<TraceRecorder.spansMax + 3 {
            recorder.startSpan("work", context: .topLevel, ofKind: .server, at: Self.now)
                .end(at: Self.now)
        }
        #expect(recorder.dropped == 3)
        #expect(recorder.drain(max: .max).count == TraceRecorder.spansMax)
    }

    @Test func `a context is injected into headers and extracted from them`() throws {
        struct Headers: Injector, Extractor {
            func inject(
                _ value: String, forKey key: String, into carrier: inout [String: String]
            ) { carrier[key] = value }
            func extract(key: String, from carrier: [String: String]) -> String? { carrier[key] }
        }
        let recorder = TraceRecorder(share: 1)
        let context = try Self.context(true)
        var headers: [String: String] = [:]
        recorder.inject(.trace(context), into: &headers, using: Headers())
        #expect(headers == ["traceparent": context.header])
        var service = ServiceContext.topLevel
        recorder.extract(headers, into: &service, using: Headers())
        #expect(service.trace == context)
    }
}
