/// A value in CBOR (RFC 8949), as far as public keys and attestation objects contain it: integers,
/// strings, arrays, maps, Booleans and null, all with definite lengths. Tags, floating-point
/// numbers and indefinite lengths are refused.
enum CBORValue: Hashable, Sendable {
    case integer(Int64)
    case bytes([UInt8])
    case text(String)
    case array([CBORValue])
    case map([CBORValue: CBORValue])
    case bool(Bool)
    case null

    var integer: Int64? { if case .integer(let value) = self { value } else { nil } }
    var bytes: [UInt8]? { if case .bytes(let value) = self { value } else { nil } }
    var text: String? { if case .text(let value) = self { value } else { nil } }
    var isMap: Bool { if case .map = self { true } else { false } }

    /// The value of a key in a map. Nil if this is no map, or has no such key.
    subscript(_ key: CBORValue) -> CBORValue? {
        if case .map(let members) = self { members[key] } else { nil }
    }
}

/// Reads CBOR values from bytes, one after another.
///
/// A value may be preceded and followed by other bytes, because a public key stands in the middle
/// of what an authenticator signs. The caller limits the number of bytes.
struct CBORReader {
    /// The maximum nesting of arrays and maps. An attestation object has three levels.
    static let depthMax = 8
    /// The maximum number of values in all, counting those within arrays and maps.
    static let valuesMax = 512

    private let bytes: [UInt8]
    /// The position of the next unread byte.
    private(set) var offset: Int
    private var valuesLeft = valuesMax

    init(_ bytes: [UInt8], from offset: Int = 0) {
        self.bytes = bytes
        self.offset = offset
    }

    var isAtEnd: Bool { offset == bytes.count }

    /// Reads a value.
    ///
    /// - Throws: ``PasskeyFailure/unreadable(_:)`` if the next bytes are not a value of the kinds
    ///   that ``CBORValue`` has, or if a limit is exceeded.
    mutating func value(depth: Int = 0) throws(PasskeyFailure) -> CBORValue {
        guard depth <= Self.depthMax, valuesLeft > 0 else {
            throw .unreadable("its CBOR has too many values, or is nested too deeply")
        }
        valuesLeft -= 1
        let first = try next(1)[0]
        let (kind, short) = (first >> 5, first & 31)
        if kind == 7 { return try simple(short) }
        let number = try argument(short)
        switch kind {
        case 0: return .integer(number)
        case 1: return .integer(-1 - number)
        case 2: return .bytes(try next(number))
        case 3: return .text(try text(number))
        case 4: return try array(of: number, depth: depth + 1)
        case 5: return try map(of: number, depth: depth + 1)
        default: throw .unreadable("its CBOR has a tag")
        }
    }

    private func simple(_ short: UInt8) throws(PasskeyFailure) -> CBORValue {
        switch short {
        case 20: return .bool(false)
        case 21: return .bool(true)
        case 22: return .null
        default: throw .unreadable("its CBOR has a number or a mark of an unknown kind")
        }
    }

    /// The number in the head of a value: in the first byte itself, or in the 1, 2, 4 or 8 bytes
    /// after it.
    private mutating func argument(_ short: UInt8) throws(PasskeyFailure) -> Int64 {
        guard short >= 24 else { return Int64(short) }
        guard short <= 27 else { throw .unreadable("its CBOR has a value without a length") }
        let number = try next(1 << Int64(short - 24)).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        guard let number = Int64(exactly: number) else {
            throw .unreadable("its CBOR has a number that is too large")
        }
        return number
    }

    private mutating func text(_ count: Int64) throws(PasskeyFailure) -> String {
        guard let text = String(validating: try next(count), as: UTF8.self) else {
            throw .unreadable("its CBOR has a text that is not UTF-8")
        }
        return text
    }

    private mutating func array(of count: Int64, depth: Int) throws(PasskeyFailure) -> CBORValue {
        var values: [CBORValue] = []
        // Ends, because each value reads at least one byte.
        while values.count < count { values.append(try value(depth: depth)) }
        return .array(values)
    }

    private mutating func map(of count: Int64, depth: Int) throws(PasskeyFailure) -> CBORValue {
        var members: [CBORValue: CBORValue] = [:]
        while members.count < count {
            let key = try value(depth: depth)
            guard members.updateValue(try value(depth: depth), forKey: key) == nil else {
                throw .unreadable("its CBOR has a key twice")
            }
        }
        return .map(members)
    }

    private mutating func next(_ count: Int64) throws(PasskeyFailure) -> [UInt8] {
        guard count <= bytes.count - offset else { throw .unreadable("its CBOR ends too early") }
        defer { offset += Int(count) }
        return Array(bytes[offset..<offset + Int(count)])
    }
}
