/// Encodes values one after the other, without names: numbers as variable-length integers, text
/// prefixed with its length.
struct ByteWriter {
    private(set) var bytes: [UInt8] = []

    init() { bytes.reserveCapacity(Self.usualBytes) }

    /// The typical size of a timeline with a few periods.
    private static let usualBytes = 512

    mutating func write(_ number: Int64) {
        var rest = UInt64(bitPattern: number << 1 ^ number >> 63)
        while rest >= 128 {
            bytes.append(UInt8(rest & 127) | 128)
            rest >>= 7
        }
        bytes.append(UInt8(rest))
    }

    mutating func write(_ text: String) {
        write(Int64(text.utf8.count))
        bytes.append(contentsOf: text.utf8)
    }

    mutating func write(_ flag: Bool) { bytes.append(flag ? 1 : 0) }

    mutating func write<Value>(_ value: Value?, _ body: (inout ByteWriter, Value) -> Void) {
        write(value != nil)
        if let value { body(&self, value) }
    }
}

/// Reads what a ``ByteWriter`` wrote, in the same order.
struct ByteReader {
    private let bytes: [UInt8]
    private var next = 0

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    var isAtEnd: Bool { next == bytes.count }

    private static let damaged = StorageFailure("a stored value is damaged: run a rebuild")

    private mutating func byte() throws(StorageFailure) -> UInt8 {
        guard next < bytes.count else { throw Self.damaged }
        defer { next += 1 }
        return bytes[next]
    }

    mutating func number() throws(StorageFailure) -> Int64 {
        var value: UInt64 = 0
        for shift in stride(from: UInt64(0), to: 64, by: 7) {
            let byte = try byte()
            value |= UInt64(byte & 127) << shift
            if byte < 128 { return Int64(bitPattern: value >> 1) ^ -Int64(bitPattern: value & 1) }
        }
        throw Self.damaged
    }

    mutating func text() throws(StorageFailure) -> String {
        guard let count = Int(exactly: try number()), count >= 0, count <= bytes.count - next else {
            throw Self.damaged
        }
        defer { next += count }
        return bytes.withUnsafeBufferPointer { all in
            String(decoding: UnsafeBufferPointer(rebasing: all[next..<next + count]), as: UTF8.self)
        }
    }

    mutating func flag() throws(StorageFailure) -> Bool {
        let byte = try byte()
        guard byte <= 1 else { throw Self.damaged }
        return byte == 1
    }

    mutating func optional<Value>(
        _ body: (inout ByteReader) throws(StorageFailure) -> Value
    ) throws(StorageFailure) -> Value? {
        try flag() ? try body(&self) : nil
    }

    /// Reads an enumeration case by its raw value.
    mutating func named<Value: RawRepresentable<String>>() throws(StorageFailure) -> Value {
        guard let value = Value(rawValue: try text()) else { throw Self.damaged }
        return value
    }
}
