/// One of Apple's JSON objects as a Swift value. The function `walk` names every field once, and is
/// used for both reading and writing.
///
/// Unknown keys, and known keys whose value does not have the documented type, remain in `unknown`
/// and are written again. So a field that Apple adds or changes is not lost, and does not make a
/// document unreadable.
package protocol WireObject: WireValue {
    init()
    var unknown: [JSON.Member] { get set }
    mutating func walk(_ fields: inout some FieldVisitor)
    /// Consumes the object and returns its compact JSON text, without a copy. This is a requirement
    /// of the protocol, so that it is compiled for each type.
    consuming func intoBytes() -> [UInt8]
}

/// The types of a field's value: text, number, date, open enumeration, object, or an array of
/// these.
package protocol WireValue: Hashable, Sendable {
    /// Reads a value. Returns nil if the JSON does not have the documented type.
    init?(json: JSON)
    var json: JSON { get }
    /// Appends the text of ``json``. May do this without creating that JSON value, if that is
    /// faster.
    func write(to text: inout [UInt8])
}

extension WireValue {
    package func write(to text: inout [UInt8]) { json.write(to: &text) }
}

/// The initial capacity in bytes. A notification with two documents has about 12,000 bytes.
private let typicalLength = 12_288

/// Visits the fields of a ``WireObject``. One implementation reads the fields, the others write the
/// fields.
package protocol FieldVisitor {
    mutating func field<Value: WireValue>(_ key: String, _ value: inout Value?)
}

/// Reads fields. A field that was read is marked instead of removed, because nearly all fields are
/// read.
private struct FieldReader: FieldVisitor {
    private let members: [JSON.Member]
    private var isRead: [Bool]

    init(_ members: [JSON.Member]) {
        self.members = members
        isRead = Array(repeating: false, count: members.count)
    }

    var unread: [JSON.Member] {
        guard isRead.contains(false) else { return [] }
        return zip(members, isRead).filter { !$1 }.map(\.0)
    }

    mutating func field<Value: WireValue>(_ key: String, _ value: inout Value?) {
        guard let index = lastIndex(of: key, length: key.utf8.count),
            let read = Value(json: members[index].value)
        else { return }
        value = read
        isRead[index] = true
    }

    /// The last member with this key. Most keys have another length, so they are skipped without
    /// comparing their text.
    private func lastIndex(of key: String, length: Int) -> Int? {
        members.indices.last {
            !isRead[$0] && members[$0].key.utf8.count == length && members[$0].key == key
        }
    }
}

private struct FieldWriter: FieldVisitor {
    var members: [JSON.Member] = []

    mutating func field<Value: WireValue>(_ key: String, _ value: inout Value?) {
        if let value { members.append(JSON.Member(key, value.json)) }
    }
}

/// Writes the fields as JSON text.
private struct FieldTextWriter: FieldVisitor {
    var text: [UInt8]
    var isFirst = true

    mutating func field<Value: WireValue>(_ key: String, _ value: inout Value?) {
        guard let value else { return }
        write(key: key)
        value.write(to: &text)
    }

    private mutating func write(key: String) {
        if !isFirst { text.append(UInt8(ascii: ",")) }
        isFirst = false
        JSON.write(string: key, to: &text)
        text.append(UInt8(ascii: ":"))
    }
}

extension WireObject {
    package init?(json: JSON) {
        guard case .object(let members) = json else { return nil }
        self.init()
        var reading = FieldReader(members)
        walk(&reading)
        unknown = reading.unread
    }

    package var json: JSON {
        var copy = self
        var writing = FieldWriter()
        copy.walk(&writing)
        // Unknown members come first. If a key is repeated, its last member is valid, and that must
        // be the one that was read.
        return .object(unknown + writing.members)
    }

    package func write(to text: inout [UInt8]) {
        var copy = self
        copy.writeFields(to: &text)
    }

    /// The object as compact JSON text, equal to the bytes of ``json``.
    package var bytes: [UInt8] {
        var copy = self
        return copy.writtenFields()
    }

    package consuming func intoBytes() -> [UInt8] { writtenFields() }

    private mutating func writtenFields() -> [UInt8] {
        var text: [UInt8] = []
        text.reserveCapacity(typicalLength)
        writeFields(to: &text)
        return text
    }

    private mutating func writeFields(to text: inout [UInt8]) {
        text.append(UInt8(ascii: "{"))
        var writing = FieldTextWriter(text: [])
        swap(&writing.text, &text)
        for member in unknown {
            var value: JSON? = member.value
            writing.field(member.key, &value)
        }
        walk(&writing)
        swap(&writing.text, &text)
        text.append(UInt8(ascii: "}"))
    }

    /// Parses an object from JSON text. Throws if the text is not valid JSON, or not an object.
    package init(parsing bytes: some Sequence<UInt8>) throws(JSONFailure) {
        try self.init(object: try JSON(parsing: bytes))
    }

    /// Parses an object from the bytes of a JSON text. Throws if the text is not valid JSON, or not
    /// an object.
    package init(parsing bytes: [UInt8]) throws(JSONFailure) {
        try self.init(object: try JSON(parsing: bytes))
    }

    private init(object json: JSON) throws(JSONFailure) {
        guard let value = Self(json: json) else {
            throw JSONFailure(what: "expected an object", offset: 0)
        }
        self = value
    }
}

extension String: WireValue {
    package init?(json: JSON) {
        guard let string = json.string else { return nil }
        self = string
    }
    package var json: JSON { .string(self) }
    package func write(to text: inout [UInt8]) { JSON.write(string: self, to: &text) }
}

extension Int64: WireValue {
    package init?(json: JSON) {
        guard let integer = json.integer else { return nil }
        self = integer
    }
    package var json: JSON { .integer(self) }
    package func write(to text: inout [UInt8]) { JSON.write(integer: self, to: &text) }
}

extension JSON: WireValue {
    package init?(json: JSON) { self = json }
    package var json: JSON { self }
}

extension Bool: WireValue {
    package init?(json: JSON) {
        guard let bool = json.bool else { return nil }
        self = bool
    }
    package var json: JSON { .bool(self) }
}

extension Array: WireValue where Element: WireValue {
    package init?(json: JSON) {
        guard case .array(let values) = json else { return nil }
        let elements = values.compactMap { Element(json: $0) }
        guard elements.count == values.count else { return nil }
        self = elements
    }
    package var json: JSON { .array(map(\.json)) }
}

/// One of Apple's enumerations, to which Apple may add values at any time. An unknown value is
/// kept, and written again.
package protocol OpenEnumeration: WireValue, RawRepresentable, CustomStringConvertible
where RawValue: WireValue {
    init(rawValue: RawValue)
}

extension OpenEnumeration {
    package init?(json: JSON) {
        guard let rawValue = RawValue(json: json) else { return nil }
        self.init(rawValue: rawValue)
    }
    package var json: JSON { rawValue.json }
    package func write(to text: inout [UInt8]) { rawValue.write(to: &text) }
    package var description: String { "\(rawValue)" }
}
