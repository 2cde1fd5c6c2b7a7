import AppStoreFormats
import Dice

/// Damages documents along their structure. Wraps a changed part again with correct lengths and
/// Base64, so that the damage reaches the inner readers. Some damage changes raw bytes.
struct Mutator {
    var dice: Dice

    private static let jsonMarks = Array("0123456789-abz{}[]\",:.eE\\u".utf8)
    private static let listMarks = Array("{}=;\"\\-0123456789 \n".utf8)
    /// Tags and lengths of ASN.1.
    private static let derMarks: [UInt8] = [
        0x30, 0x31, 0x04, 0x02, 0x0C, 0x16, 0xA0, 0x80, 0x81, 0x84, 0xFF, 0, 1,
    ]

    mutating func damaged(_ bytes: [UInt8], as form: Form) -> [UInt8] {
        let isRough = Int.random(in: 0..<4, using: &dice) == 0
        switch form {
        case .notification, .answer, .request, .v1:
            if isRough { return dice.damaged(bytes, marks: Self.jsonMarks) }
            return damagedJSON(bytes)
        case .jws:
            if isRough { return dice.damaged(bytes, marks: Self.jsonMarks) }
            return damagedJWS(bytes)
        case .receipt, .payload:
            if isRough { return dice.damaged(bytes, marks: Self.derMarks) }
            var tree = DERTree(bytes)
            for _ in 0..<Int.random(in: 1...3, using: &dice) { tree.damage(&dice) }
            return tree.bytes
        case .list:
            if isRough { return dice.damaged(bytes, marks: Self.listMarks) }
            return damagedList(bytes)
        }
    }

    private mutating func damagedJSON(_ bytes: [UInt8]) -> [UInt8] {
        guard var json = try? JSON(parsing: bytes) else { return bytes }
        for _ in 0..<Int.random(in: 1...3, using: &dice) { damage(&json, depth: 0) }
        return json.bytes
    }

    private mutating func damagedJWS(_ bytes: [UInt8]) -> [UInt8] {
        var segments = bytes.split(
            separator: UInt8(ascii: "."), omittingEmptySubsequences: false
        ).map(Array.init)
        guard let place = segments.indices.randomElement(using: &dice),
            let decoded = Base64.url.decode(segments[place])
        else { return bytes }
        let isJSON = place < 2
        segments[place] = Base64.url.encode(
            isJSON ? damagedJSON(decoded) : dice.damaged(decoded, marks: Self.derMarks))
        return Array(segments.joined(separator: [UInt8(ascii: ".")]))
    }

    private mutating func damagedList(_ bytes: [UInt8]) -> [UInt8] {
        guard var file = try? TransactionReceiptFile(parsing: bytes) else { return bytes }
        if Bool.random(using: &dice) {
            file.signedBytes = dice.damaged(file.signedBytes, marks: Self.listMarks)
        } else {
            file.signature = dice.damaged(file.signature, marks: Self.derMarks)
        }
        return file.bytes
    }

    // MARK: - JSON

    /// Descends to a random value, and damages that value.
    private mutating func damage(_ json: inout JSON, depth: Int) {
        let stops = depth > 0 && Int.random(in: 0..<4, using: &dice) == 0
        switch json {
        case .object(var members) where !members.isEmpty && !stops:
            let place = Int.random(in: members.indices, using: &dice)
            switch Int.random(in: 0..<12, using: &dice) {
            case 0: members.remove(at: place)
            case 1: members.append(members[place])
            case 2: members[place].key = oddText(like: members[place].key)
            default: damage(&members[place].value, depth: depth + 1)
            }
            json = .object(members)
        case .array(var values) where !values.isEmpty && !stops:
            let place = Int.random(in: values.indices, using: &dice)
            switch Int.random(in: 0..<12, using: &dice) {
            case 0: values.remove(at: place)
            case 1: values += Array(repeating: values[place], count: dice.times())
            default: damage(&values[place], depth: depth + 1)
            }
            json = .array(values)
        case .string(let text) where Int.random(in: 0..<3, using: &dice) > 0:
            json = .string(damagedText(text))
        default: json = odd(like: json)
        }
    }

    /// Damages a text. If the text contains a document, damages that document.
    private mutating func damagedText(_ text: String) -> String {
        let bytes = Array(text.utf8)
        if text.hasPrefix("eyJ") { return String(decoding: damagedJWS(bytes), as: UTF8.self) }
        if text.hasPrefix("MII"), let der = Base64.standard.decode(bytes) {
            var tree = DERTree(der)
            tree.damage(&dice)
            return String(decoding: Base64.standard.encode(tree.bytes), as: UTF8.self)
        }
        return oddText(like: text)
    }

    private mutating func oddText(like text: String) -> String {
        switch Int.random(in: 0..<10, using: &dice) {
        case 0: return ""
        case 1: return "9223372036854775807"
        case 2: return "-9223372036854775808"
        case 3: return "99999999999999999999999"
        case 4: return String(repeating: text, count: dice.times())
        case 5: return text + "\u{0}\u{202E}\u{1F600}"
        case 6: return "0001-01-01 00:00:00 Etc/GMT"
        case 7: return "2026-13-32T25:61:61Z"
        default:
            return String(
                decoding: dice.damaged(Array(text.utf8), marks: Self.jsonMarks), as: UTF8.self)
        }
    }

    private mutating func odd(like json: JSON) -> JSON {
        switch Int.random(in: 0..<10, using: &dice) {
        case 0: return .null
        case 1: return .bool(Bool.random(using: &dice))
        case 2: return .integer(.max)
        case 3: return .integer(.min)
        case 4: return .integer(Int64.random(in: -10...10, using: &dice))
        case 5: return .decimal("1e400")
        case 6: return .decimal("1697679936049.7297")
        case 7: return .array([json, json])
        case 8:
            var nested = json
            for _ in 0..<Int.random(in: 1...200, using: &dice) { nested = .array([nested]) }
            return nested
        default: return .object([JSON.Member("a", json), JSON.Member("a", .null)])
        }
    }
}

extension Dice {
    /// A number of repetitions: usually small, and rarely large.
    mutating func times() -> Int {
        Int.random(in: 0..<400, using: &self) == 0 ? 40 : Int.random(in: 1...3, using: &self)
    }
}
