/// Visits the members of a JSON object, either to write or to read them. So one declaration of the
/// members serves both purposes: see ``JSONMembersWriter`` and ``JSONMembersReader``.
///
/// A nil value is written as no member, and a missing or null member is read as nil.
protocol JSONMembers {
    /// Whether values are read. If false, the values are written, and no visit changes them.
    static var isReading: Bool { get }

    mutating func text(_ name: String, _ value: inout String?) throws(StorageFailure)
    mutating func number(_ name: String, _ value: inout Int64?) throws(StorageFailure)
    mutating func flag(_ name: String, _ value: inout Bool?) throws(StorageFailure)
    mutating func object<Value: JSONObject>(
        _ name: String, _ value: inout Value?
    ) throws(StorageFailure)
}

/// A value whose JSON is an object.
protocol JSONObject {
    /// The value that ``visit(_:)`` fills when it reads.
    static var blank: Self { get }
    mutating func visit(_ members: inout some JSONMembers) throws(StorageFailure)
}

extension JSONMembers {
    /// Visits a text member that is always present.
    mutating func text(_ name: String, required value: inout String) throws(StorageFailure) {
        var found: String? = value
        try text(name, &found)
        if Self.isReading { value = try Self.require(found, name) }
    }

    /// Visits a number member that is always present.
    mutating func number(_ name: String, required value: inout Int64) throws(StorageFailure) {
        var found: Int64? = value
        try number(name, &found)
        if Self.isReading { value = try Self.require(found, name) }
    }

    static func require<Value>(_ value: Value?, _ name: String) throws(StorageFailure) -> Value {
        guard let value else {
            throw StorageFailure("the JSON of an event has no \(name), or an unknown one")
        }
        return value
    }
}

// MARK: - Writing

/// Writes the members of an object in the order in which they are visited.
struct JSONMembersWriter: JSONMembers {
    static let isReading = false

    private(set) var bytes: [UInt8] = []
    /// Whether the innermost object has no member yet.
    private var isFirst = true

    /// The typical size of an event.
    private static let usualBytes = 512

    static func text(of object: some JSONObject) -> String {
        var writer = JSONMembersWriter()
        writer.bytes.reserveCapacity(usualBytes)
        do throws(StorageFailure) { try writer.write(object) } catch {
            preconditionFailure("A visit throws only while it reads: \(error)")
        }
        return String(decoding: writer.bytes, as: UTF8.self)
    }

    mutating func text(_ name: String, _ value: inout String?) {
        guard let value else { return }
        key(name)
        string(value)
    }

    mutating func number(_ name: String, _ value: inout Int64?) {
        guard let value else { return }
        key(name)
        bytes.append(contentsOf: String(value).utf8)
    }

    mutating func flag(_ name: String, _ value: inout Bool?) {
        guard let value else { return }
        key(name)
        bytes.append(contentsOf: (value ? "true" : "false").utf8)
    }

    mutating func object<Value: JSONObject>(
        _ name: String, _ value: inout Value?
    ) throws(StorageFailure) {
        guard let value else { return }
        key(name)
        try write(value)
        isFirst = false
    }

    private mutating func write(_ object: some JSONObject) throws(StorageFailure) {
        var object = object
        bytes.append(UInt8(ascii: "{"))
        isFirst = true
        try object.visit(&self)
        bytes.append(UInt8(ascii: "}"))
    }

    private mutating func key(_ name: String) {
        if !isFirst { bytes.append(UInt8(ascii: ",")) }
        isFirst = false
        string(name)
        bytes.append(UInt8(ascii: ":"))
    }

    private mutating func string(_ text: String) {
        bytes.append(UInt8(ascii: "\""))
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"):
                bytes.append(UInt8(ascii: "\\"))
                bytes.append(byte)
            case 0..<0x20:
                bytes.append(contentsOf: (byte < 0x10 ? "\\u000" : "\\u00").utf8)
                bytes.append(contentsOf: String(byte, radix: 16).utf8)
            default: bytes.append(byte)
            }
        }
        bytes.append(UInt8(ascii: "\""))
    }
}

// MARK: - Reading

/// Reads the members of an object by their names. The order of the members does not matter, and
/// members that are not visited are ignored.
struct JSONMembersReader: JSONMembers {
    static let isReading = true

    private let members: [(name: String, value: JSONValue)]

    private init(_ members: [(name: String, value: JSONValue)]) { self.members = members }

    static func value<Value: JSONObject>(of text: String) throws(StorageFailure) -> Value {
        var parser = JSONParser(text)
        guard case .object(let members) = try parser.whole() else { throw JSONParser.damaged }
        return try Self(members).value()
    }

    private func value<Value: JSONObject>() throws(StorageFailure) -> Value {
        var (value, reader) = (Value.blank, self)
        try value.visit(&reader)
        return value
    }

    private func member(_ name: String) -> JSONValue? {
        members.first { $0.name == name }?.value
    }

    mutating func text(_ name: String, _ value: inout String?) {
        value = if case .text(let text)? = member(name) { text } else { nil }
    }

    mutating func number(_ name: String, _ value: inout Int64?) {
        value = if case .number(let number)? = member(name) { number } else { nil }
    }

    mutating func flag(_ name: String, _ value: inout Bool?) {
        value = if case .flag(let flag)? = member(name) { flag } else { nil }
    }

    mutating func object<Value: JSONObject>(
        _ name: String, _ value: inout Value?
    ) throws(StorageFailure) {
        guard case .object(let members)? = member(name) else {
            value = nil
            return
        }
        value = try Self(members).value()
    }
}
