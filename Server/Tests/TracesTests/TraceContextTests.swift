import Testing

@testable import Traces

@Suite struct TraceContextTests {
    private static let trace = "4bf92f3577b34da6a3ce929d0e0e4736"
    private static let span = "00f067aa0ba902b7"

    @Test(arguments: ["01", "00", "ff", "fe"])
    func `the header traceparent is read and written`(flags: String) throws {
        let header = "00-\(Self.trace)-\(Self.span)-\(flags)"
        let context = try #require(TraceContext(header: header))
        #expect(context.isSampled == (flags == "01" || flags == "ff"))
        #expect(
            context.header == "00-\(Self.trace)-\(Self.span)-\(context.isSampled ? "01" : "00")")
    }

    @Test func `a header of a later version is read by its first four parts`() throws {
        let header = "cc-\(Self.trace)-\(Self.span)-01-what-the-future-brings"
        #expect(try #require(TraceContext(header: header)).isSampled)
    }

    @Test(arguments: [
        "", "00", "00-\(trace)-\(span)", "00-\(trace)-\(span)-01-more", "ff-\(trace)-\(span)-01",
        "00-\(trace)-\(span)-1", "00-\(trace)-\(span)-0x", "00-\(trace.uppercased())-\(span)-01",
        "00-00000000000000000000000000000000-\(span)-01", "00-\(trace)-0000000000000000-01",
        "00-\(trace)0-\(span)-01", "0g-\(trace)-\(span)-01", "00_\(trace)_\(span)_01",
    ])
    func `a header that is not valid begins a new trace`(header: String) {
        #expect(TraceContext(header: header) == nil)
    }

    @Test func `the ids of a document's trace follow from the document`() throws {
        let document = Self.trace + Self.span + "aaaaaaaaaaaaaaaa"
        let context = try #require(TraceContext(document: document, share: 1))
        #expect(context.header == "00-\(Self.trace)-\(Self.span)-01")
        for other in ["", "4bf9", "no hexadecimal number of any kind, but long enough"] {
            #expect(TraceContext(document: other, share: 1) == nil, "\(other)")
        }
    }

    @Test func `the configured share of traces is sampled, and every server samples the same ones`()
    {
        let recorder = TraceRecorder(share: 0.25)
        let traces = (0..<4_000).map { _ in recorder.newTrace() }
        let sampled = traces.count(where: \.isSampled)
        // 1,000 are expected, with a standard deviation of 27. A difference of eight standard
        // deviations practically never occurs.
        #expect((784...1_216).contains(sampled), "\(sampled)")
        for context in traces.prefix(100) {
            #expect(TraceContext.isSampled(context.trace, share: 0.25) == context.isSampled)
            #expect(TraceContext.isSampled(context.trace, share: 1))
            #expect(!TraceContext.isSampled(context.trace, share: 0))
        }
    }
}
