/// One of the numbered attributes of a receipt. The value is stored as the bytes that were signed,
/// because the meaning of a number and the encoding of its value may be unknown.
package struct ReceiptAttribute: Hashable, Sendable {
    package var number: Int64
    /// The version of the attribute: 1, or 2 for the opaque value in receipts that Apple signed.
    package var version: Int64
    /// The bytes of the value. Most values are again a DER element: an INTEGER, a UTF8String or an
    /// IA5String.
    package var value: [UInt8]

    /// The maximum number of attributes of one receipt, or of one purchase in it.
    package static let countMax = 100_000

    package init(_ number: Int64, version: Int64 = 1, value: [UInt8]) {
        self.number = number
        self.version = version
        self.value = value
    }
}

// MARK: - Values

extension ReceiptAttribute {
    package static func integer(_ field: some RawRepresentable<Int64>, _ value: Int64) -> Self {
        let content = DERElement.integerContent(value)
        return Self(field.rawValue, value: DERElement.bytes(DERElement.integer, content))
    }

    package static func text(_ field: some RawRepresentable<Int64>, _ value: String) -> Self {
        Self(field.rawValue, value: DERElement.bytes(DERElement.utf8Text, Array(value.utf8)))
    }

    package static func ascii(_ field: some RawRepresentable<Int64>, _ value: String) -> Self {
        Self(field.rawValue, value: DERElement.bytes(DERElement.asciiText, Array(value.utf8)))
    }

    /// An attribute with a date. An absent date is an empty text.
    package static func date(
        _ field: some RawRepresentable<Int64>, _ value: AppStoreDate?
    ) -> Self {
        ascii(field, value.map(ReceiptDate.text) ?? "")
    }

    /// The value as a number. Returns nil if it is not an INTEGER of at most 64 bits.
    package var integer: Int64? {
        element.flatMap {
            $0.tag == DERElement.integer ? DERElement.integer($0.content) : nil
        }
    }

    /// The value as text. Returns nil if it is not a text.
    package var text: String? {
        guard let element, [DERElement.utf8Text, DERElement.asciiText].contains(element.tag)
        else { return nil }
        return String(validating: element.content, as: UTF8.self)
    }

    /// The value as a date. Returns nil if it is not a date, or is the empty text.
    package var date: AppStoreDate? { text.flatMap(ReceiptDate.moment) }

    private var element: DERElement? {
        var rest = value[...]
        guard let element = try? DERElement(removingFrom: &rest), rest.isEmpty else { return nil }
        return element
    }
}

// MARK: - Sets of attributes

extension ReceiptAttribute {
    /// Parses a SET of attributes.
    static func list(parsing bytes: ArraySlice<UInt8>) throws(ReceiptFailure) -> [Self] {
        var outside = bytes
        var rest = try DERElement(DERElement.set, removingFrom: &outside).content
        guard outside.isEmpty else { throw ReceiptFailure("unexpected bytes follow the set") }
        var attributes: [Self] = []
        while !rest.isEmpty {
            guard attributes.count < countMax else {
                throw ReceiptFailure("there are more than \(countMax) attributes")
            }
            var inside = try DERElement(DERElement.sequence, removingFrom: &rest).content
            let number = try DERElement(DERElement.integer, removingFrom: &inside).content
            let version = try DERElement(DERElement.integer, removingFrom: &inside).content
            let value = try DERElement(DERElement.octets, removingFrom: &inside).content
            guard let number = DERElement.integer(number),
                let version = DERElement.integer(version)
            else { throw ReceiptFailure("the number of an attribute has more than 64 bits") }
            attributes.append(Self(number, version: version, value: Array(value)))
        }
        return attributes
    }

    /// The SET in Apple's form, sorted by encoding (X.690 §11.6). Shorter encodings come first, so
    /// a receipt's purchases are not in the order of their dates.
    static func bytes(_ attributes: [Self]) -> [UInt8] {
        let encoded = attributes.map(\.bytes).sorted { $0.lexicographicallyPrecedes($1) }
        return DERElement.bytes(DERElement.set, encoded.flatMap { $0 })
    }

    private var bytes: [UInt8] {
        let numbers = [number, version].flatMap {
            DERElement.bytes(DERElement.integer, DERElement.integerContent($0))
        }
        let value = DERElement.bytes(DERElement.octets, value)
        return DERElement.bytes(DERElement.sequence, numbers + value)
    }
}

/// Why bytes are not a valid receipt.
package struct ReceiptFailure: Error, Hashable, Sendable, CustomStringConvertible {
    package let description: String

    package init(_ description: String) { self.description = description }
}
