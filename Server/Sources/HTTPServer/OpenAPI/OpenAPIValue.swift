/// A JSON value of the OpenAPI description. Members keep their order.
indirect enum OpenAPIValue: Sendable, Equatable {
    case null
    case bool(Bool)
    case integer(Int)
    case text(String)
    case list([OpenAPIValue])
    case object([Member])

    struct Member: Sendable, Equatable {
        var name: String
        var value: OpenAPIValue

        init(_ name: String, _ value: OpenAPIValue) { (self.name, self.value) = (name, value) }
    }

    /// This object with the members of another one after its own.
    func adding(_ other: OpenAPIValue?) -> OpenAPIValue {
        guard case .object(let members) = self, case .object(let more)? = other else { return self }
        return .object(members + more)
    }
}

extension OpenAPIValue: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral,
    ExpressibleByBooleanLiteral, ExpressibleByNilLiteral, ExpressibleByArrayLiteral,
    ExpressibleByDictionaryLiteral
{
    init(stringLiteral value: String) { self = .text(value) }
    init(integerLiteral value: Int) { self = .integer(value) }
    init(booleanLiteral value: Bool) { self = .bool(value) }
    init(nilLiteral: ()) { self = .null }
    init(arrayLiteral elements: OpenAPIValue...) { self = .list(elements) }
    init(dictionaryLiteral elements: (String, OpenAPIValue)...) {
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

    func encode(to encoder: any Encoder) throws {
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
