/// The body of a request to `/v1/traces` of an OpenTelemetry collector: an
/// `ExportTraceServiceRequest` in Protocol Buffers, as OTLP over HTTP sends it.
package enum OTLPRequest {
    package static let mediaType = "application/x-protobuf"
    package static let path = "/v1/traces"

    /// The status code of a failed span: `STATUS_CODE_ERROR`.
    private static let errorCode: UInt64 = 2

    /// - Parameters:
    ///   - resource: the attributes of the program, such as `service.name`.
    ///   - scope: the name and version of the code that made the spans.
    package static func body(
        _ spans: [FinishedSpan], resource: [FinishedSpan.Attribute],
        scope: (name: String, version: String)
    ) -> [UInt8] {
        var writer = ProtocolBufferWriter()
        writer.message(1) { resourceSpans in
            resourceSpans.message(1) { message in
                for attribute in resource { message.message(1) { write(attribute, to: &$0) } }
            }
            resourceSpans.message(2) { scopeSpans in
                scopeSpans.message(1) { message in
                    message.text(1, scope.name)
                    message.text(2, scope.version)
                }
                for span in spans { scopeSpans.message(2) { write(span, to: &$0) } }
            }
        }
        return writer.bytes
    }

    private static func write(_ span: FinishedSpan, to message: inout ProtocolBufferWriter) {
        message.bytes(1, span.trace)
        message.bytes(2, span.span)
        if let parent = span.parent { message.bytes(4, parent) }
        message.text(5, span.name)
        message.number(6, span.kind.rawValue)
        message.fixed64(7, span.start)
        message.fixed64(8, span.end)
        for attribute in span.attributes { message.message(9) { write(attribute, to: &$0) } }
        guard span.isError else { return }
        message.message(15) { status in
            if !span.message.isEmpty { status.text(2, span.message) }
            status.number(3, errorCode)
        }
    }

    private static func write(
        _ attribute: FinishedSpan.Attribute, to message: inout ProtocolBufferWriter
    ) {
        message.text(1, attribute.name)
        message.message(2) { value in
            switch attribute.value {
            case .text(let text): value.text(1, text)
            case .flag(let flag): value.number(2, flag ? 1 : 0)
            case .integer(let number): value.number(3, UInt64(bitPattern: number))
            }
        }
    }
}

/// Writes fields of Protocol Buffers.
struct ProtocolBufferWriter {
    private(set) var bytes: [UInt8] = []

    private enum WireType: UInt64 {
        case number = 0
        case fixed64 = 1
        case bytes = 2
    }

    mutating func number(_ field: UInt64, _ value: UInt64) {
        key(field, .number)
        varint(value)
    }

    mutating func fixed64(_ field: UInt64, _ value: UInt64) {
        key(field, .fixed64)
        withUnsafeBytes(of: value.littleEndian) { bytes += $0 }
    }

    mutating func bytes(_ field: UInt64, _ value: some Collection<UInt8>) {
        key(field, .bytes)
        varint(UInt64(value.count))
        bytes += value
    }

    mutating func text(_ field: UInt64, _ value: String) { bytes(field, value.utf8) }

    mutating func message(_ field: UInt64, _ body: (inout ProtocolBufferWriter) -> Void) {
        var inner = ProtocolBufferWriter()
        body(&inner)
        bytes(field, inner.bytes)
    }

    private mutating func key(_ field: UInt64, _ type: WireType) {
        varint(field << 3 | type.rawValue)
    }

    private mutating func varint(_ value: UInt64) {
        var rest = value
        while rest >= 0x80 {
            bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        bytes.append(UInt8(rest))
    }
}
