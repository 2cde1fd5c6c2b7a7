import Crypto
import Engine
import Ledger
import Storage

/// The text of the list of erasures. Each line has words, and ends with a checksum:
///
///     intent NAME APP MOMENT KEY EXACT TOMBSTONE CHECKSUM
///     end NAME APP POSITION CHECKSUM
///     abandoned NAME APP CHECKSUM
///
/// An erasure has one intent for each id of the person. MOMENT is in milliseconds since 1970; KEY,
/// EXACT and TOMBSTONE are hexadecimal.
enum ErasureText {
    /// The number of hexadecimal digits of the checksum.
    private static let checksumDigits = 8
    private static let codeBytes = 32

    static func text(of lines: [ErasureLine]) -> String {
        lines.flatMap(words).map { words in
            let text = words.joined(separator: " ")
            return "\(text) \(checksum(of: text))\n"
        }.joined()
    }

    private static func words(of line: ErasureLine) -> [[String]] {
        switch line {
        case .intent(let intent):
            intent.codes.map { code in
                [
                    "intent", intent.name, intent.app.rawValue, "\(intent.at.milliseconds)",
                    intent.key, Hexadecimal.text(code.exact), Hexadecimal.text(code.tombstone),
                ]
            }
        case .end(let name, let app, let position):
            [["end", name, app.rawValue, "\(position)"]]
        case .abandoned(let name, let app): [["abandoned", name, app.rawValue]]
        }
    }

    /// Reads a line without its line break. Returns nil if the line is damaged.
    static func line(of text: some StringProtocol) -> ErasureLine? {
        guard let space = text.lastIndex(of: " ") else { return nil }
        let content = String(text[..<space])
        guard text[text.index(after: space)...] == checksum(of: content) else { return nil }
        let words = content.split(separator: " ").map(String.init)
        guard words.count > 2 else { return nil }
        let (name, app) = (words[1], AppID(rawValue: words[2]))
        switch (words[0], words.count) {
        case ("intent", 7): return intent(words, name, app)
        case ("end", 4):
            return LogPosition(words[3]).map { .end(name: name, app: app, position: $0) }
        case ("abandoned", 3): return .abandoned(name: name, app: app)
        default: return nil
        }
    }

    private static func intent(_ words: [String], _ name: String, _ app: AppID) -> ErasureLine? {
        guard let milliseconds = Int64(words[3]), let exact = Hexadecimal.bytes(words[5]),
            let tombstone = Hexadecimal.bytes(words[6]), exact.count == codeBytes,
            tombstone.count == codeBytes
        else { return nil }
        return .intent(
            ErasureIntent(
                name: name, app: app, at: Instant(milliseconds: milliseconds), key: words[4],
                codes: [.init(exact: exact, tombstone: tombstone)]))
    }

    private static func checksum(of text: String) -> String {
        let digits = Hexadecimal.text(Array(SHA256.hash(data: Array(text.utf8))))
        return String(digits.prefix(checksumDigits))
    }
}
