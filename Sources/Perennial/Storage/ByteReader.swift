/// Reads the values that ``ByteWriter`` wrote. Every method throws ``Damaged`` if the bytes do not
/// contain the expected value.
struct ByteReader {
    struct Damaged: Error {}

    private var rest: ArraySlice<UInt8>
    /// The version of the layout. Layouts of earlier versions lack some values.
    let version: UInt8

    init(_ bytes: some Collection<UInt8>, version: UInt8 = StateFile.version) {
        rest = Array(bytes)[...]
        self.version = version
    }

    var isAtEnd: Bool { rest.isEmpty }

    mutating func next(_ count: Int) throws(Damaged) -> ArraySlice<UInt8> {
        guard count <= rest.count else { throw Damaged() }
        defer { rest.removeFirst(count) }
        return rest.prefix(count)
    }

    mutating func byte() throws(Damaged) -> UInt8 {
        let slice = try next(1)
        return slice[slice.startIndex]
    }

    /// Reads a boolean. Only the bytes 0 and 1 are valid, so that each value has one form.
    mutating func bool() throws(Damaged) -> Bool {
        let byte = try byte()
        guard byte <= 1 else { throw Damaged() }
        return byte == 1
    }

    mutating func number() throws(Damaged) -> Int64 {
        Int64(bitPattern: try next(8).reduce(0) { $0 << 8 | UInt64($1) })
    }

    mutating func count() throws(Damaged) -> Int {
        Int(try next(4).reduce(0) { $0 << 8 | UInt32($1) })
    }

    mutating func bytes() throws(Damaged) -> [UInt8] { Array(try next(try count())) }

    mutating func text() throws(Damaged) -> String {
        guard let text = String(validating: try bytes()) else { throw Damaged() }
        return text
    }

    mutating func optional<Value>(
        _ read: (inout ByteReader) throws(Damaged) -> Value
    ) throws(Damaged) -> Value? {
        try bool() ? try read(&self) : nil
    }

    mutating func optionalText() throws(Damaged) -> String? {
        try optional { reader throws(Damaged) in try reader.text() }
    }

    mutating func optionalNumber() throws(Damaged) -> Int64? {
        try optional { reader throws(Damaged) in try reader.number() }
    }

    /// Reads the number of values, and then the values. The file's size limits the number, because
    /// each value takes at least one byte.
    mutating func list<Value>(
        _ read: (inout ByteReader) throws(Damaged) -> Value
    ) throws(Damaged) -> [Value] {
        let count = try count()
        guard count <= rest.count else { throw Damaged() }
        var values: [Value] = []
        for _ in 0..<count { values.append(try read(&self)) }
        return values
    }
}
