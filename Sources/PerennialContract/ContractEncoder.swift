/// Encodes answers as JSON. Members have the order of their declaration in the type. Nil becomes
/// null, and slashes are not escaped. Dictionaries with text as keys are sorted by key.
///
/// Requests of clients are different: like `JSONEncoder`, they leave out nil members.
public struct ContractEncoder: Sendable {
    /// Whether to indent each level by two spaces, so that people can read the JSON.
    public var isIndented: Bool

    public init(isIndented: Bool = false) { self.isIndented = isIndented }

    /// - Throws: `EncodingError` for a number that JSON cannot represent, and for a value that
    ///   encodes nothing.
    public func encode(_ value: some Encodable) throws -> [UInt8] {
        let text = JSONText()
        try text.write(value)
        return isIndented ? Self.indented(text.bytes) : text.bytes
    }

    /// Returns the same JSON, with each level indented by two spaces.
    ///
    /// - Parameter json: valid JSON, on one line or indented in any way.
    public static func indented(_ json: some Sequence<UInt8>) -> [UInt8] {
        IndentedJSON.bytes(of: json)
    }
}

/// The encoder for one value. The encoder writes the bytes at once, without building a tree.
///
/// `codingPath` is always empty, because maintaining it would take longer than writing.
private struct ValueEncoder: Encoder {
    let text: JSONText
    /// The number of objects and arrays that enclose the value.
    let depth: Int

    var codingPath: [any CodingKey] { [] }
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key: CodingKey>(keyedBy: Key.Type) -> KeyedEncodingContainer<Key> {
        text.open(.object, below: depth)
        return KeyedEncodingContainer(Members(text: text, depth: depth + 1))
    }

    func unkeyedContainer() -> any UnkeyedEncodingContainer {
        text.open(.array, below: depth)
        return Elements(text: text, depth: depth + 1)
    }

    func singleValueContainer() -> any SingleValueEncodingContainer { SingleValue(text: text) }
}

extension JSONText {
    /// Writes a value, and closes the objects and arrays that it has opened.
    fileprivate func write<Value: Encodable>(_ value: Value) throws {
        let (depth, countBefore) = (depth, count)
        if Value.self == Timestamp.self, let time = value as? Timestamp {
            string(time.description)
        } else if let dictionary = dictionary(value) {
            try dictionary.write(to: self)
        } else {
            try value.encode(to: ValueEncoder(text: self, depth: depth))
        }
        close(to: depth)
        guard count > countBefore else {
            throw EncodingError.invalidValue(
                value, .init(codingPath: [], debugDescription: "\(Value.self) wrote nothing."))
        }
    }

    /// Returns the value as a dictionary with text as keys, or nil. The cast takes as long as
    /// writing a small value, so only values that have the size of a dictionary in memory are cast.
    private func dictionary<Value>(_ value: Value) -> (any StringKeyed)? {
        guard MemoryLayout<Value>.size == MemoryLayout<[String: Bool]>.size else { return nil }
        return value as? any StringKeyed
    }

    fileprivate func write(_ value: Double) throws {
        guard value.isFinite else {
            throw EncodingError.invalidValue(
                value, .init(codingPath: [], debugDescription: "JSON has no \(value)."))
        }
        number(value)
    }
}

/// A dictionary that JSON writes as an object, sorted by key. `Dictionary.encode(to:)` writes the
/// keys in no fixed order.
private protocol StringKeyed {
    func write(to text: JSONText) throws
}

extension Dictionary: StringKeyed where Key == String, Value: Encodable {
    fileprivate func write(to text: JSONText) throws {
        let depth = text.depth
        text.open(.object, below: depth)
        for (key, value) in sorted(by: { $0.key < $1.key }) {
            text.key(key, at: depth + 1)
            try text.write(value)
        }
    }
}

// MARK: - The members of an object

private struct Members<Key: CodingKey>: KeyedEncodingContainerProtocol {
    let text: JSONText
    let depth: Int

    var codingPath: [any CodingKey] { [] }

    private func key(_ key: Key) { text.key(key.stringValue, at: depth) }

    private func integer(_ value: some FixedWidthInteger, _ key: Key) {
        self.key(key)
        text.integer(value)
    }

    private func integer(_ value: (some FixedWidthInteger)?, _ key: Key) {
        self.key(key)
        if let value { text.integer(value) } else { text.null() }
    }

    func encodeNil(forKey key: Key) {
        self.key(key)
        text.null()
    }

    func encode(_ value: Bool, forKey key: Key) {
        self.key(key)
        text.bool(value)
    }

    func encode(_ value: String, forKey key: Key) {
        self.key(key)
        text.string(value)
    }

    func encode(_ value: Double, forKey key: Key) throws {
        self.key(key)
        try text.write(value)
    }

    func encode(_ value: Float, forKey key: Key) throws { try encode(Double(value), forKey: key) }
    func encode(_ value: Int, forKey key: Key) { integer(value, key) }
    func encode(_ value: Int8, forKey key: Key) { integer(value, key) }
    func encode(_ value: Int16, forKey key: Key) { integer(value, key) }
    func encode(_ value: Int32, forKey key: Key) { integer(value, key) }
    func encode(_ value: Int64, forKey key: Key) { integer(value, key) }
    func encode(_ value: UInt, forKey key: Key) { integer(value, key) }
    func encode(_ value: UInt8, forKey key: Key) { integer(value, key) }
    func encode(_ value: UInt16, forKey key: Key) { integer(value, key) }
    func encode(_ value: UInt32, forKey key: Key) { integer(value, key) }
    func encode(_ value: UInt64, forKey key: Key) { integer(value, key) }

    func encode<Value: Encodable>(_ value: Value, forKey key: Key) throws {
        self.key(key)
        try text.write(value)
    }

    func nestedContainer<Nested: CodingKey>(
        keyedBy: Nested.Type, forKey key: Key
    ) -> KeyedEncodingContainer<Nested> {
        encoder(of: key).container(keyedBy: Nested.self)
    }

    func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
        encoder(of: key).unkeyedContainer()
    }

    func superEncoder() -> any Encoder {
        text.key("super", at: depth)
        return ValueEncoder(text: text, depth: depth)
    }

    func superEncoder(forKey key: Key) -> any Encoder { encoder(of: key) }

    private func encoder(of key: Key) -> ValueEncoder {
        self.key(key)
        return ValueEncoder(text: text, depth: depth)
    }
}

/// Writes null for nil. A synthesized `encode(to:)` calls these for optional members.
extension Members {
    func encodeIfPresent(_ value: Bool?, forKey key: Key) {
        self.key(key)
        if let value { text.bool(value) } else { text.null() }
    }

    func encodeIfPresent(_ value: String?, forKey key: Key) {
        self.key(key)
        if let value { text.string(value) } else { text.null() }
    }

    func encodeIfPresent(_ value: Double?, forKey key: Key) throws {
        if let value { try encode(value, forKey: key) } else { encodeNil(forKey: key) }
    }

    func encodeIfPresent(_ value: Float?, forKey key: Key) throws {
        try encodeIfPresent(value.map { Double($0) }, forKey: key)
    }

    func encodeIfPresent(_ value: Int?, forKey key: Key) { integer(value, key) }
    func encodeIfPresent(_ value: Int8?, forKey key: Key) { integer(value, key) }
    func encodeIfPresent(_ value: Int16?, forKey key: Key) { integer(value, key) }
    func encodeIfPresent(_ value: Int32?, forKey key: Key) { integer(value, key) }
    func encodeIfPresent(_ value: Int64?, forKey key: Key) { integer(value, key) }
    func encodeIfPresent(_ value: UInt?, forKey key: Key) { integer(value, key) }
    func encodeIfPresent(_ value: UInt8?, forKey key: Key) { integer(value, key) }
    func encodeIfPresent(_ value: UInt16?, forKey key: Key) { integer(value, key) }
    func encodeIfPresent(_ value: UInt32?, forKey key: Key) { integer(value, key) }
    func encodeIfPresent(_ value: UInt64?, forKey key: Key) { integer(value, key) }

    func encodeIfPresent<Value: Encodable>(_ value: Value?, forKey key: Key) throws {
        self.key(key)
        if let value { try text.write(value) } else { text.null() }
    }
}

// MARK: - The elements of an array

private struct Elements: UnkeyedEncodingContainer {
    let text: JSONText
    let depth: Int
    private(set) var count = 0

    init(text: JSONText, depth: Int) {
        self.text = text
        self.depth = depth
    }

    var codingPath: [any CodingKey] { [] }

    private mutating func next() {
        text.element(at: depth)
        count += 1
    }

    mutating func encodeNil() {
        next()
        text.null()
    }

    mutating func encode(_ value: String) {
        next()
        text.string(value)
    }

    mutating func encode(_ value: some Encodable) throws {
        next()
        try text.write(value)
    }

    mutating func nestedContainer<Nested: CodingKey>(
        keyedBy: Nested.Type
    ) -> KeyedEncodingContainer<Nested> {
        next()
        return ValueEncoder(text: text, depth: depth).container(keyedBy: Nested.self)
    }

    mutating func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer {
        next()
        return ValueEncoder(text: text, depth: depth).unkeyedContainer()
    }

    mutating func superEncoder() -> any Encoder {
        next()
        return ValueEncoder(text: text, depth: depth)
    }
}

// MARK: - One value

private struct SingleValue: SingleValueEncodingContainer {
    let text: JSONText

    var codingPath: [any CodingKey] { [] }

    func encodeNil() { text.null() }
    func encode(_ value: Bool) { text.bool(value) }
    func encode(_ value: String) { text.string(value) }
    func encode(_ value: Double) throws { try text.write(value) }
    func encode(_ value: Float) throws { try text.write(Double(value)) }
    func encode(_ value: Int) { text.integer(value) }
    func encode(_ value: Int8) { text.integer(value) }
    func encode(_ value: Int16) { text.integer(value) }
    func encode(_ value: Int32) { text.integer(value) }
    func encode(_ value: Int64) { text.integer(value) }
    func encode(_ value: UInt) { text.integer(value) }
    func encode(_ value: UInt8) { text.integer(value) }
    func encode(_ value: UInt16) { text.integer(value) }
    func encode(_ value: UInt32) { text.integer(value) }
    func encode(_ value: UInt64) { text.integer(value) }
    func encode(_ value: some Encodable) throws { try text.write(value) }
}
