/// The part of XML that the answers of a bucket's server need: elements without attributes, which
/// are found by their names.
struct BucketXML: Sendable {
    private let bytes: ArraySlice<UInt8>

    private static let entities: [String: String] = [
        "lt": "<", "gt": ">", "amp": "&", "quot": "\"", "apos": "'",
    ]
    /// The maximum length of an entity, such as `#x10FFFF`.
    private static let entityCharactersMax = 8

    init(_ bytes: some Sequence<UInt8>) { self.bytes = Array(bytes)[...] }
    private init(slice: ArraySlice<UInt8>) { bytes = slice }

    /// The contents of all elements of a name, none of which contains another one.
    func all(_ name: String) -> [BucketXML] {
        let (opening, closing) = (Array("<\(name)>".utf8), Array("</\(name)>".utf8))
        var found: [BucketXML] = []
        var rest = bytes
        while let start = Self.range(of: opening, in: rest),
            let end = Self.range(of: closing, in: rest[start.upperBound...])
        {
            found.append(BucketXML(slice: rest[start.upperBound..<end.lowerBound]))
            rest = rest[end.upperBound...]
        }
        return found
    }

    /// The text of the first element of a name. Returns nil if there is none.
    func text(_ name: String) -> String? { all(name).first?.text }

    /// The contents of an error, as the error itself.
    var wrapped: String { "<Error>\(String(decoding: bytes, as: UTF8.self))</Error>" }

    private static func range(
        of sought: [UInt8], in bytes: ArraySlice<UInt8>
    ) -> Range<Int>? {
        var from = bytes.startIndex
        while let start = bytes[from...].firstIndex(of: UInt8(ascii: "<")) {
            let end = start + sought.count
            guard end <= bytes.endIndex else { return nil }
            if bytes[start..<end].elementsEqual(sought) { return start..<end }
            from = start + 1
        }
        return nil
    }

    /// The contents as text, with the characters that entities stand for.
    var text: String {
        let raw = String(decoding: bytes, as: UTF8.self)
        guard raw.contains("&") else { return raw }
        var parts = raw.split(separator: "&", omittingEmptySubsequences: false)[...]
        var text = String(parts.removeFirst())
        for part in parts {
            guard let end = part.prefix(Self.entityCharactersMax + 1).firstIndex(of: ";"),
                let character = Self.character(named: part[..<end])
            else {
                text += "&" + part
                continue
            }
            text += character + part[part.index(after: end)...]
        }
        return text
    }

    private static func character(named name: Substring) -> String? {
        guard name.hasPrefix("#") else { return entities[String(name)] }
        let digits = name.dropFirst()
        let number =
            digits.hasPrefix("x") ? UInt32(digits.dropFirst(), radix: 16) : UInt32(digits)
        return number.flatMap(Unicode.Scalar.init).map { String(Character($0)) }
    }

    /// Text as the content of an element.
    static func escaped(_ text: String) -> String {
        text.replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing(
            ">", with: "&gt;")
    }
}
