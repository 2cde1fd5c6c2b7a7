import Tracing

/// A span that has ended, as it is sent to the collector.
package struct FinishedSpan: Hashable, Sendable {
    package enum Value: Hashable, Sendable {
        case text(String)
        case integer(Int64)
        case flag(Bool)
    }

    /// The kind, as OTLP numbers it.
    package enum Kind: UInt64, Hashable, Sendable {
        case `internal` = 1
        case server, client, producer, consumer
    }

    package var trace: [UInt8]
    package var span: [UInt8]
    /// The id of the parent. Nil for the first span of a trace.
    package var parent: [UInt8]?
    package var name: String
    package var kind: Kind
    /// Nanoseconds since 1970.
    package var start: UInt64
    package var end: UInt64
    /// Sorted by name.
    package var attributes: [Attribute]
    /// Whether the operation failed.
    package var isError: Bool
    /// What failed, in words. Empty if nothing is known.
    package var message: String

    package struct Attribute: Hashable, Sendable {
        package var name: String
        package var value: Value

        package init(_ name: String, _ value: Value) {
            self.name = name
            self.value = value
        }
    }
}

extension FinishedSpan.Kind {
    init(_ kind: SpanKind) {
        self =
            switch kind {
            case .server: .server
            case .client: .client
            case .producer: .producer
            case .consumer: .consumer
            default: .internal
            }
    }
}

extension FinishedSpan.Value {
    /// Returns nil for lists and fractions, which no span of ours has.
    init?(_ attribute: SpanAttribute) {
        switch attribute {
        case .int32(let number): self = .integer(Int64(number))
        case .int64(let number): self = .integer(number)
        case .bool(let flag): self = .flag(flag)
        case .string(let text): self = .text(text)
        case .stringConvertible(let value): self = .text("\(value)")
        default: return nil
        }
    }
}
