/// Writes values one after the other, to be read by ``ByteReader``.
struct ByteWriter {
    private(set) var bytes: [UInt8] = []

    mutating func write(_ byte: UInt8) { bytes.append(byte) }

    mutating func write(_ bool: Bool) { bytes.append(bool ? 1 : 0) }

    /// Eight bytes, most significant first.
    mutating func write(_ number: Int64) { writeInteger(number) }

    /// Four bytes, most significant first.
    mutating func write(count: Int) { writeInteger(UInt32(count)) }

    /// Four bytes for the length, then the bytes.
    mutating func write(_ content: [UInt8]) {
        write(count: content.count)
        bytes.append(contentsOf: content)
    }

    /// As UTF-8, in the same form as bytes.
    mutating func write(_ text: String) { write(Array(text.utf8)) }

    /// One byte that says whether there is a value, then the value.
    mutating func write<Value>(
        _ value: Value?, _ write: (inout ByteWriter, Value) -> Void
    ) {
        self.write(value != nil)
        if let value { write(&self, value) }
    }

    mutating func write(_ text: String?) { write(text) { $0.write($1) } }

    mutating func write(_ number: Int64?) { write(number) { $0.write($1) } }

    /// The number of values, then the values.
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
