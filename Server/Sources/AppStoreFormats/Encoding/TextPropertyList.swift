/// A property list of texts in NeXTSTEP notation: `{ "key" = "value"; … }`.
struct TextPropertyList: Sendable {
    var entries: [(key: String, value: String)]

    /// The maximum number of entries in one list.
    static let entriesMax = 100

    init(entries: [(key: String, value: String)]) { self.entries = entries }

    init(parsing bytes: [UInt8]) throws(ReceiptFailure) {
        guard bytes.count <= TransactionReceiptFile.bytesMax,
            let text = String(validating: bytes, as: UTF8.self)
        else { throw ReceiptFailure("the list is too long, or is not text") }
        var rest = text[...]
        entries = []
        try Self.skip("{", in: &rest)
        while !rest.drop(while: \.isWhitespace).hasPrefix("}") {
            guard entries.count < Self.entriesMax else {
                throw ReceiptFailure("the list has more than \(Self.entriesMax) entries")
            }
            let key = try Self.quoted(in: &rest)
            try Self.skip("=", in: &rest)
            let value = try Self.quoted(in: &rest)
            try Self.skip(";", in: &rest)
            entries.append((key, value))
        }
        try Self.skip("}", in: &rest)
    }

    subscript(_ key: String) -> String? { entries.first { $0.key == key }?.value }

    var bytes: [UInt8] {
        let lines = entries.map { "\t\"\(Self.escaped($0.key))\" = \"\(Self.escaped($0.value))\";" }
        return Array((["{"] + lines + ["}"]).joined(separator: "\n").utf8)
    }

    private static func skip(
        _ sign: Character, in text: inout Substring
    ) throws(ReceiptFailure) {
        text = text.drop(while: \.isWhitespace)
        guard text.popFirst() == sign else { throw ReceiptFailure("the list lacks a \(sign)") }
    }

    private static func quoted(in text: inout Substring) throws(ReceiptFailure) -> String {
        try skip("\"", in: &text)
        var value = ""
        while let sign = text.popFirst() {
            switch sign {
            case "\"": return value
            case "\\":
                guard let next = text.popFirst() else { break }
                value.append(next)
            default: value.append(sign)
            }
        }
        throw ReceiptFailure("the list ends within a text")
    }

    private static func escaped(_ text: String) -> String {
        text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"")
    }
}
