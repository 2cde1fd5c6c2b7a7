import PerennialContract

/// The members of a contract type's JSON object. To find the members, the type is decoded from a
/// decoder that records each requested member. So a member is declared only in the type.
struct ContractShape {
    struct Member {
        var name: String
        var form: Form
        /// Whether the property is an optional.
        var isOptional: Bool
    }

    indirect enum Form {
        case text
        case integer
        case number
        case flag
        case time
        case word(any ContractWord.Type)
        case list(Form)
        case dictionary(Form)
        case object(any Decodable.Type)
        /// Any JSON.
        case anything
    }

    var members: [Member]

    /// Throws ``ContractProbe/Failure`` if the type does not decode from an object with members of
    /// the forms above.
    init<Value: Decodable>(of type: Value.Type) throws {
        let probe = ContractProbe()
        _ = try Value(from: probe)
        members = probe.members
    }

    var names: [String] { members.map(\.name) }
}

extension ContractShape.Form {
    /// The type of the object, or of the objects in the list or dictionary.
    var object: (any Decodable.Type)? {
        switch self {
        case .object(let type): type
        case .list(let element), .dictionary(let element): element.object
        case .text, .integer, .number, .flag, .time, .word, .anything: nil
        }
    }
}

// MARK: - The recording decoder

/// A decoder that records the members that a type decodes, and gives it empty values.
final class ContractProbe: Decoder {
    struct Failure: Error {
        var description: String
    }

    let codingPath: [any CodingKey] = []
    let userInfo: [CodingUserInfoKey: Any] = [:]
    fileprivate(set) var members: [ContractShape.Member] = []
    fileprivate var optionalName: String?

    func container<Key: CodingKey>(keyedBy: Key.Type) -> KeyedDecodingContainer<Key> {
        KeyedDecodingContainer(Members<Key>(probe: self))
    }

    func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
        throw Failure(description: "A contract type is an object or a word.")
    }

    func singleValueContainer() throws -> any SingleValueDecodingContainer {
        throw Failure(description: "A single value must be a ContractWord or a Timestamp.")
    }

    fileprivate func record(_ form: ContractShape.Form, _ key: some CodingKey) {
        members.append(
            .init(
                name: key.stringValue, form: form, isOptional: optionalName == key.stringValue))
    }
}

/// Collections whose element type a decoder cannot see, because the decoded collection is empty.
private protocol Collected: Decodable {
    static var form: ContractShape.Form { get throws }
    static var none: Self { get }
}

extension Array: Collected where Element: Decodable {
    fileprivate static var form: ContractShape.Form {
        get throws { .list(try ContractProbe.value(of: Element.self).form) }
    }
    fileprivate static var none: [Element] { [] }
}

extension Dictionary: Collected where Key == String, Value: Decodable {
    fileprivate static var form: ContractShape.Form {
        get throws { .dictionary(try ContractProbe.value(of: Value.self).form) }
    }
    fileprivate static var none: [String: Value] { [:] }
}

extension ContractProbe {
    /// The form of a type, and an empty value of it.
    fileprivate static func value<Value: Decodable>(
        of type: Value.Type
    ) throws -> (form: ContractShape.Form, value: Value) {
        func typed(_ form: ContractShape.Form, _ value: Any) throws -> (ContractShape.Form, Value) {
            guard let value = value as? Value else {
                throw Failure(description: "\(type) has no empty value.")
            }
            return (form, value)
        }
        switch type {
        case is String.Type: return try typed(.text, "")
        case is Bool.Type: return try typed(.flag, false)
        case is Int.Type: return try typed(.integer, 0)
        case is Int64.Type: return try typed(.integer, Int64(0))
        case is Double.Type: return try typed(.number, 0.0)
        case is Timestamp.Type: return try typed(.time, Timestamp(milliseconds: 0))
        case is MetadataValue.Type: return try typed(.anything, MetadataValue.null)
        case let word as any ContractWord.Type:
            return try typed(.word(word), word.init(rawValue: ""))
        case let collected as any Collected.Type:
            return try typed(collected.form, collected.none)
        default: return (.object(type), try Value(from: ContractProbe()))
        }
    }
}

private struct Members<Key: CodingKey>: KeyedDecodingContainerProtocol {
    let probe: ContractProbe
    let codingPath: [any CodingKey] = []
    let allKeys: [Key] = []

    func contains(_ key: Key) -> Bool { true }

    /// Called only before an optional member is decoded.
    func decodeNil(forKey key: Key) -> Bool {
        probe.optionalName = key.stringValue
        return false
    }

    func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
        let (form, value) = try ContractProbe.value(of: type)
        probe.record(form, key)
        return value
    }

    func nestedContainer<Name: CodingKey>(
        keyedBy type: Name.Type, forKey key: Key
    ) throws -> KeyedDecodingContainer<Name> {
        throw ContractProbe.Failure(description: "\(key) is not decoded as a type of its own.")
    }

    func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
        throw ContractProbe.Failure(description: "\(key) is not decoded as a type of its own.")
    }

    func superDecoder() throws -> any Decoder { probe }
    func superDecoder(forKey key: Key) throws -> any Decoder { probe }
}
