import Storage

/// The parameters of one run of a statement in PostgreSQL's binary format, in one contiguous
/// buffer.
struct PostgresParameters {
    private static let bigint: UInt32 = 20
    private static let text: UInt32 = 25
    private static let bytea: UInt32 = 17

    private var buffer: [UInt8] = []
    /// The offset of each parameter; nil for null.
    private var starts: [Int?] = []
    private var lengths: [Int32] = []
    /// The format of each parameter: all are binary.
    private var formats: [Int32]

    var count: Int32 { Int32(lengths.count) }

    init(_ values: [Value]) {
        formats = Array(repeating: 1, count: values.count)
        starts.reserveCapacity(values.count)
        lengths.reserveCapacity(values.count)
        for value in values { append(value) }
        // The extra byte gives the buffer an address even if all values are empty, because libpq
        // reads a null pointer as the value null.
        buffer.append(0)
    }

    private mutating func append(_ value: Value) {
        let start = buffer.count
        switch value {
        case .null:
            starts.append(nil)
            lengths.append(0)
            return
        case .integer(let number):
            withUnsafeBytes(of: number.bigEndian) { buffer.append(contentsOf: $0) }
        case .text(let text): buffer.append(contentsOf: text.utf8)
        case .bytes(let bytes): buffer.append(contentsOf: bytes)
        }
        starts.append(start)
        lengths.append(Int32(buffer.count - start))
    }

    /// The types with which to prepare a statement. The type of a null is left to the server, which
    /// knows the target column.
    static func types(of values: [Value]) -> [UInt32] {
        values.map { value in
            switch value {
            case .null: 0
            case .integer: bigint
            case .text: text
            case .bytes: bytea
            }
        }
    }

    /// Calls a function with the arrays that libpq expects: addresses, lengths and formats.
    func withPointers<Result>(
        _ body: (
            UnsafePointer<UnsafePointer<CChar>?>?, UnsafePointer<Int32>?, UnsafePointer<Int32>?
        ) -> Result
    ) -> Result {
        buffer.withUnsafeBufferPointer { bytes in
            bytes.withMemoryRebound(to: CChar.self) { characters in
                let addresses = starts.map { start in
                    start.flatMap { start in characters.baseAddress.map { $0 + start } }
                }
                return addresses.withUnsafeBufferPointer { addresses in
                    lengths.withUnsafeBufferPointer { lengths in
                        formats.withUnsafeBufferPointer { formats in
                            body(
                                addresses.baseAddress, lengths.baseAddress, formats.baseAddress)
                        }
                    }
                }
            }
        }
    }
}
