/// A JSON value of an OpenAPI document. Members keep their order.
package indirect enum OpenAPIValue: Sendable, Equatable {
    case null
    case bool(Bool)
    case integer(Int)
    case text(String)
    case list([OpenAPIValue])
    case object([Member])

    package struct Member: Sendable, Equatable {
        package var name: String
        package var value: OpenAPIValue

        package init(_ name: String, _ value: OpenAPIValue) {
            (self.name, self.value) = (name, value)
        }
    }

    /// This object's members, then the members of another object.
    package func adding(_ other: OpenAPIValue?) -> OpenAPIValue {
        guard case .object(let members) = self, case .object(let more)? = other else { return self }
        return .object(members + more)
    }
}

extension OpenAPIValue: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral,
    ExpressibleByBooleanLiteral, ExpressibleByNilLiteral, ExpressibleByArrayLiteral,
    ExpressibleByDictionaryLiteral
{
    package init(stringLiteral value: String) { self = .text(value) }
    package init(integerLiteral value: Int) { self = .integer(value) }
    package init(booleanLiteral value: Bool) { self = .bool(value) }
    package init(nilLiteral: ()) { self = .null }
    package init(arrayLiteral elements: OpenAPIValue...) { self = .list(elements) }
    package init(dictionaryLiteral elements: (String, OpenAPIValue)...) {
        self = .object(elements.map { Member($0.0, $0.1) })
    }
}

extension OpenAPIValue: Encodable {
    private struct Name: CodingKey {
        var stringValue: String
        var intValue: Int? { nil }
        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { return nil }
    }

    package func encode(to encoder: any Encoder) throws {
        switch self {
        case .object(let members):
            var container = encoder.container(keyedBy: Name.self)
            for member in members {
                try container.encode(member.value, forKey: Name(stringValue: member.name))
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
        case .text(let value):
            var container = encoder.singleValueContainer()
            try container.encode(value)
        }
    }
}
