/// Writes values one after the other. ``ByteReader`` reads them.
struct ByteWriter {
    private(set) var bytes: [UInt8] = []

    mutating func write(_ byte: UInt8) { bytes.append(byte) }

    mutating func write(_ bool: Bool) { bytes.append(bool ? 1 : 0) }

    /// Writes eight bytes, most significant first.
    mutating func write(_ number: Int64) { writeInteger(number) }

    /// Writes four bytes, most significant first.
    mutating func write(count: Int) { writeInteger(UInt32(count)) }

    /// Writes four bytes for the length, and then the bytes.
    mutating func write(_ content: [UInt8]) {
        write(count: content.count)
        bytes.append(contentsOf: content)
    }

    /// Writes the text as UTF-8, in the same form as bytes.
    mutating func write(_ text: String) { write(Array(text.utf8)) }

    /// Writes one byte that says whether there is a value, and then the value.
    mutating func write<Value>(
        _ value: Value?, _ write: (inout ByteWriter, Value) -> Void
    ) {
        self.write(value != nil)
        if let value { write(&self, value) }
    }

    mutating func write(_ text: String?) { write(text) { $0.write($1) } }

    mutating func write(_ number: Int64?) { write(number) { $0.write($1) } }

    /// Writes the number of values, and then the values.
    mutating func write<Values: Collection>(
        _ values: Values, _ write: (inout ByteWriter, Values.Element) -> Void
    ) {
        self.write(count: values.count)
        for value in values { write(&self, value) }
    }

    private mutating func writeInteger(_ number: some FixedWidthInteger) {
        withUnsafeBytes(of: number.bigEndian) { bytes.append(contentsOf: $0) }
    }
}
