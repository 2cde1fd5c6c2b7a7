/// A JSON value of a kind that occurs in events.
enum JSONValue {
    case text(String)
    case number(Int64)
    case flag(Bool)
    case object([(name: String, value: JSONValue)])
    /// Null, an array, or a number that is not whole: no member of an event has such a value.
    case other
}

/// Parses the JSON that ``JSONMembersWriter`` writes, even if it was reformatted.
struct JSONParser {
    /// The maximum nesting of objects and arrays.
    private static let depthMax = 16

    static let damaged = StorageFailure("the JSON of an event is damaged")

    private let bytes: [UInt8]
    private var next = 0

    init(_ text: String) { bytes = Array(text.utf8) }

    /// Parses the whole text as one value.
    mutating func whole() throws(StorageFailure) -> JSONValue {
        let value = try value(depth: 0)
        skipSpace()
        guard next == bytes.count else { throw Self.damaged }
        return value
    }

    private mutating func value(depth: Int) throws(StorageFailure) -> JSONValue {
        skipSpace()
        guard next < bytes.count, depth < Self.depthMax else { throw Self.damaged }
        switch bytes[next] {
        case UInt8(ascii: "{"): return .object(try members(depth: depth))
        case UInt8(ascii: "["):
            try elements(depth: depth)
            return .other
        case UInt8(ascii: "\""): return .text(try string())
        default: return try word()
        }
    }

    private mutating func members(
        depth: Int
    ) throws(StorageFailure) -> [(name: String, value: JSONValue)] {
        var members: [(name: String, value: JSONValue)] = []
        next += 1
        if consume("}") { return members }
        repeat {
            skipSpace()
            let name = try string()
            guard consume(":") else { throw Self.damaged }
            members.append((name, try value(depth: depth + 1)))
        } while consume(",")
        guard consume("}") else { throw Self.damaged }
        return members
    }

    private mutating func elements(depth: Int) throws(StorageFailure) {
        next += 1
        if consume("]") { return }
        repeat { _ = try value(depth: depth + 1) } while consume(",")
        guard consume("]") else { throw Self.damaged }
    }

    /// Parses a number, `true`, `false` or `null`.
    private mutating func word() throws(StorageFailure) -> JSONValue {
        let start = next
        while next < bytes.count, Self.isInWord(bytes[next]) { next += 1 }
        let word = String(decoding: bytes[start..<next], as: UTF8.self)
        switch word {
        case "true": return .flag(true)
        case "false": return .flag(false)
        case "null": return .other
        default:
            if let number = Int64(word) { return .number(number) }
            guard Double(word) != nil else { throw Self.damaged }
            return .other
        }
    }

    private static func isInWord(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "E"), UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "."):
            true
        default: false
        }
    }

    private mutating func string() throws(StorageFailure) -> String {
        guard next < bytes.count, bytes[next] == UInt8(ascii: "\"") else { throw Self.damaged }
        next += 1
        let start = next
        while next < bytes.count, bytes[next] != UInt8(ascii: "\"") {
            if bytes[next] == UInt8(ascii: "\\") { return try escapedString(from: start) }
            next += 1
        }
        guard next < bytes.count else { throw Self.damaged }
        defer { next += 1 }
        return String(decoding: bytes[start..<next], as: UTF8.self)
    }

    private mutating func escapedString(from start: Int) throws(StorageFailure) -> String {
        var text = Array(bytes[start..<next])
        while next < bytes.count {
            let byte = bytes[next]
            next += 1
            switch byte {
            case UInt8(ascii: "\""): return String(decoding: text, as: UTF8.self)
            case UInt8(ascii: "\\"): text.append(contentsOf: try escaped())
            default: text.append(byte)
            }
        }
        throw Self.damaged
    }

    private mutating func escaped() throws(StorageFailure) -> [UInt8] {
        guard next < bytes.count else { throw Self.damaged }
        defer { next += 1 }
        switch bytes[next] {
        case UInt8(ascii: "b"): return [0x08]
        case UInt8(ascii: "f"): return [0x0C]
        case UInt8(ascii: "n"): return [0x0A]
        case UInt8(ascii: "r"): return [0x0D]
        case UInt8(ascii: "t"): return [0x09]
        case UInt8(ascii: "u"):
            guard next + 4 < bytes.count,
                let code = UInt32(
                    String(decoding: bytes[next + 1...next + 4], as: UTF8.self), radix: 16),
                let scalar = Unicode.Scalar(code)
            else { throw Self.damaged }
            next += 4
            return Array(String(Character(scalar)).utf8)
        case let byte: return [byte]
        }
    }

    private mutating func consume(_ character: Unicode.Scalar) -> Bool {
        skipSpace()
        guard next < bytes.count, bytes[next] == UInt8(ascii: character) else { return false }
        next += 1
        return true
    }

    private mutating func skipSpace() {
        while next < bytes.count, [0x20, 0x09, 0x0A, 0x0D].contains(bytes[next]) { next += 1 }
    }
}
