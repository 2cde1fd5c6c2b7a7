/// A JSON object of Apple's as a Swift value. One function names every field, once, for reading and
/// for writing.
///
/// Nothing is lost on the way: keys that are not known here, and known keys whose value is not of
/// the documented type, stay in `unknown` and are written again. So a field that Apple adds, or
/// changes, never makes a document unreadable.
package protocol WireObject: WireValue {
    init()
    var unknown: [JSON.Member] { get set }
    mutating func walk(_ fields: inout some Fields)
}

/// What a field's value can be: text, number, date, open enumeration, object, or a list of one of
/// these.
package protocol WireValue: Hashable, Sendable {
    /// Nil where the JSON is not of the documented type.
    init?(json: JSON)
    var json: JSON { get }
}

/// Visits the fields of a ``WireObject``: one implementation reads, the other writes.
package protocol Fields {
    mutating func field<Value: WireValue>(_ key: String, _ value: inout Value?)
}

private struct Reading: Fields {
    var rest: [JSON.Member]

    mutating func field<Value: WireValue>(_ key: String, _ value: inout Value?) {
        guard let index = rest.lastIndex(where: { $0.key == key }),
            let read = Value(json: rest[index].value)
        else { return }
        value = read
        rest.remove(at: index)
    }
}

private struct Writing: Fields {
    var members: [JSON.Member] = []

    mutating func field<Value: WireValue>(_ key: String, _ value: inout Value?) {
        if let value { members.append(JSON.Member(key, value.json)) }
    }
}

extension WireObject {
    package init?(json: JSON) {
        guard case .object(let members) = json else { return nil }
        self.init()
        var reading = Reading(rest: members)
        walk(&reading)
        unknown = reading.rest
    }

    package var json: JSON {
        var copy = self
        var writing = Writing()
        copy.walk(&writing)
        // What is unknown stands first: of a repeated key the last counts, and that is the one we
        // read.
        return .object(unknown + writing.members)
    }

    /// Reads an object from JSON text. Throws where the text is no JSON, or no object.
    package init(parsing bytes: some Sequence<UInt8>) throws(JSONFailure) {
        guard let value = Self(json: try JSON(parsing: bytes)) else {
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
}

extension Int64: WireValue {
    package init?(json: JSON) {
        guard let integer = json.integer else { return nil }
        self = integer
    }
    package var json: JSON { .integer(self) }
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

/// An enumeration of Apple's, which may grow without notice: a value that has no name here is kept
/// and written again.
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
    package var description: String { "\(rawValue)" }
}
