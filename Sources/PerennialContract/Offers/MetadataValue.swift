/// A value of a placement's metadata, which only the app interprets: any JSON.
public struct MetadataValue: Hashable, Sendable {
    private indirect enum Form: Hashable, Sendable {
        case null
        case flag(Bool)
        case integer(Int64)
        case number(Double)
        case text(String)
        case list([MetadataValue])
        case members([String: MetadataValue])
    }

    private var form: Form

    private init(_ form: Form) { self.form = form }

    public static let null = Self(.null)
    public static func flag(_ value: Bool) -> Self { Self(.flag(value)) }
    public static func integer(_ value: Int64) -> Self { Self(.integer(value)) }
    public static func number(_ value: Double) -> Self { Self(.number(value)) }
    public static func text(_ value: String) -> Self { Self(.text(value)) }
    public static func list(_ values: [MetadataValue]) -> Self { Self(.list(values)) }
    public static func members(_ values: [String: MetadataValue]) -> Self { Self(.members(values)) }

    public var isNull: Bool { form == .null }

    /// The value, if it is true or false; otherwise nil.
    public var flag: Bool? {
        if case .flag(let value) = form { value } else { nil }
    }

    /// The value, if it is a whole number; otherwise nil.
    public var integer: Int64? {
        if case .integer(let value) = form { value } else { nil }
    }

    /// The value, if it is a number, whole or not; otherwise nil.
    public var number: Double? {
        switch form {
        case .integer(let value): Double(value)
        case .number(let value): value
        case .null, .flag, .text, .list, .members: nil
        }
    }

    /// The value, if it is text; otherwise nil.
    public var text: String? {
        if case .text(let value) = form { value } else { nil }
    }

    /// The value, if it is a list; otherwise nil.
    public var list: [MetadataValue]? {
        if case .list(let values) = form { values } else { nil }
    }

    /// The members of the value, if it is an object; otherwise nil.
    public var members: [String: MetadataValue]? {
        if case .members(let values) = form { values } else { nil }
    }
}

extension MetadataValue: Codable {
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if let value = try? container.decode(Bool.self) {
            self = .flag(value)
        } else if let value = try? container.decode(Int64.self) {
            self = .integer(value)
        } else if let value = try? container.decode(Double.self) {
            self = .number(value)
        } else if let value = try? container.decode(String.self) {
            self = .text(value)
        } else if let values = try? container.decode([MetadataValue].self) {
            self = .list(values)
        } else {
            self = .members(try container.decode([String: MetadataValue].self))
        }
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch form {
        case .null: try container.encodeNil()
        case .flag(let value): try container.encode(value)
        case .integer(let value): try container.encode(value)
        case .number(let value): try container.encode(value)
        case .text(let value): try container.encode(value)
        case .list(let values): try container.encode(values)
        case .members(let values): try container.encode(values)
        }
    }
}
