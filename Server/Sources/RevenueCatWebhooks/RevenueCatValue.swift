import Ledger

/// JSON whose objects have an order, and whose nulls are written.
package indirect enum RevenueCatValue: Hashable, Sendable {
    case null
    case bool(Bool)
    case integer(Int64)
    case number(Double)
    case string(String)
    case list([RevenueCatValue])
    case object([Member])

    package struct Member: Hashable, Sendable {
        package var key: String
        package var value: RevenueCatValue

        package init(_ key: String, _ value: RevenueCatValue) {
            (self.key, self.value) = (key, value)
        }
    }

    package static func text(_ text: String?) -> Self { text.map { .string($0) } ?? .null }
    package static func texts(_ texts: [String]) -> Self {
        .list(texts.map { .string($0) })
    }
    package static func milliseconds(_ count: Int64?) -> Self {
        count.map { .integer($0) } ?? .null
    }
}

extension RevenueCatValue {
    /// `subscriber_attributes`: the value and the time of each attribute, by its name.
    package static func attributes(_ attributes: [CustomerAttribute]) -> Self {
        .object(
            attributes.compactMap { attribute in
                attribute.value.map { value in
                    Member(
                        attribute.name,
                        .object([
                            .init("value", .string(value)),
                            .init(
                                "updated_at_ms", .integer(attribute.updatedAt.milliseconds)),
                        ]))
                }
            })
    }
}

extension RevenueCatValue: Encodable {
    private struct Key: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }

        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }

    package func encode(to encoder: any Encoder) throws {
        switch self {
        case .object(let members):
            var container = encoder.container(keyedBy: Key.self)
            for member in members {
                try container.encode(member.value, forKey: Key(stringValue: member.key))
            }
        case .list(let values):
            var container = encoder.unkeyedContainer()
            for value in values { try container.encode(value) }
        case .null:
            var container = encoder.singleValueContainer()
            try container.encodeNil()
        case .bool(let value):
            var container = encoder.singleValueContainer()
            try container.encode(value)
        case .integer(let value):
            var container = encoder.singleValueContainer()
            try container.encode(value)
        case .number(let value):
            var container = encoder.singleValueContainer()
            try container.encode(value)
        case .string(let value):
            var container = encoder.singleValueContainer()
            try container.encode(value)
        }
    }
}
