import ServiceContextModule

/// The place of a span in a trace, as W3C's Trace Context describes it.
package struct TraceContext: Hashable, Sendable {
    /// 16 bytes, not all zero.
    package let trace: [UInt8]
    /// 8 bytes, not all zero: the id of the span that is the parent of spans in this context.
    package let span: [UInt8]
    /// Whether the spans of the trace are sent.
    package var isSampled: Bool

    package static let traceBytes = 16
    package static let spanBytes = 8

    /// Returns nil if an id has another length or is zero.
    package init?(trace: [UInt8], span: [UInt8], isSampled: Bool) {
        guard trace.count == Self.traceBytes, span.count == Self.spanBytes,
            trace.contains(where: { $0 != 0 }), span.contains(where: { $0 != 0 })
        else { return nil }
        self.trace = trace
        self.span = span
        self.isSampled = isSampled
    }

    // MARK: - The trace of a document

    /// The context of the request that recorded a document. Every server computes the same ids from
    /// the id of the document, so the delivery of an event joins the trace of the notification
    /// that caused it, and no table has to store the trace.
    ///
    /// - Parameters:
    ///   - document: the id of the document: its SHA-256, in hexadecimal. Returns nil for another
    ///     form.
    ///   - share: see ``isSampled(_:share:)``.
    package init?(document: String, share: Double) {
        guard let digest = TraceDigits.bytes(document[...]),
            digest.count >= Self.traceBytes + Self.spanBytes
        else { return nil }
        let trace = Array(digest.prefix(Self.traceBytes))
        self.init(
            trace: trace, span: Array(digest.dropFirst(Self.traceBytes).prefix(Self.spanBytes)),
            isSampled: Self.isSampled(trace, share: share))
    }

    /// Whether a trace is among those that are sent. Servers with the same share choose the same
    /// traces.
    ///
    /// - Parameter share: the share of traces that are sent, from 0 to 1.
    package static func isSampled(_ trace: [UInt8], share: Double) -> Bool {
        guard share < 1 else { return true }
        // Uses the last bytes, because some systems put a time into the first bytes.
        let number = trace.suffix(spanBytes).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        return Double(number) < share * 0x1p64
    }

    // MARK: - The header

    /// The name of the header.
    package static let headerName = "traceparent"
    private static let version = "00"

    /// Reads the header `traceparent`. Returns nil if it is not valid: then a new trace begins.
    package init?(header: String) {
        let parts = header.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count >= 4, parts[0].utf8.count == 2, parts[0] != "ff",
            parts[0] != Self.version[...] || parts.count == 4,
            TraceDigits.bytes(parts[0]) != nil,
            let trace = TraceDigits.bytes(parts[1]), let span = TraceDigits.bytes(parts[2]),
            let flags = TraceDigits.bytes(parts[3]), flags.count == 1
        else { return nil }
        self.init(trace: trace, span: span, isSampled: flags[0] & 1 == 1)
    }

    /// The value of the header `traceparent`.
    package var header: String {
        let flags = isSampled ? "01" : "00"
        return "\(Self.version)-\(TraceDigits.text(trace))-\(TraceDigits.text(span))-\(flags)"
    }
}

extension ServiceContext {
    private enum Key: ServiceContextKey { typealias Value = TraceContext }

    /// The place in a trace. Nil begins a new trace.
    package var trace: TraceContext? {
        get { self[Key.self] }
        set { self[Key.self] = newValue }
    }

    package static func trace(_ context: TraceContext?) -> ServiceContext {
        var service = ServiceContext.topLevel
        service.trace = context
        return service
    }
}

/// Lower-case hexadecimal digits, as Trace Context demands.
enum TraceDigits {
    static func text(_ bytes: [UInt8]) -> String {
        String(
            decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }

    /// Returns nil if the text has an odd length, or other characters than `0`–`9` and `a`–`f`.
    static func bytes(_ text: Substring) -> [UInt8]? {
        let values = text.utf8.map { byte in digits.firstIndex(of: byte).map(UInt8.init) }
        guard values.count.isMultiple(of: 2) else { return nil }
        var bytes: [UInt8] = []
        for place in stride(from: 0, to: values.count, by: 2) {
            guard let high = values[place], let low = values[place + 1] else { return nil }
            bytes.append(high << 4 | low)
        }
        return bytes
    }

    private static let digits = Array("0123456789abcdef".utf8)
}
