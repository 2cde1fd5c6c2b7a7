import Crypto

/// A code that replaces a lost passkey once, after the password.
///
/// It has 80 random bits, written as 16 letters and digits in groups of four. Only a keyed hash is
/// stored.
struct RecoveryCode: Hashable, Sendable {
    /// How many codes an operator gets at a time.
    static let count = 10
    /// The maximum length of what a person types as a code.
    static let typedBytesMax = 100
    private static let characters = 16
    private static let groupCharacters = 4
    /// Crockford's Base32: without letters that look like digits, and without u.
    private static let alphabet = Array("0123456789abcdefghjkmnpqrstvwxyz")

    /// The letters and digits alone.
    private let text: String

    /// A new random code.
    init() {
        let bytes = SymmetricKey(size: SymmetricKeySize(bitCount: Self.characters * 8))
            .withUnsafeBytes { Array($0) }
        text = String(bytes.map { Self.alphabet[Int($0 & 31)] })
    }

    /// Reads a code as a person types it: in upper or lower case, with any spaces and hyphens.
    /// Returns nil if the text cannot be a code.
    init?(typed: String) {
        guard typed.utf8.count <= Self.typedBytesMax else { return nil }
        let plain = typed.lowercased().compactMap { character -> Character? in
            switch character {
            case " ", "-": nil
            case "o": "0"
            case "i", "l": "1"
            default: character
            }
        }
        guard plain.count == Self.characters, plain.allSatisfy(Self.alphabet.contains) else {
            return nil
        }
        text = String(plain)
    }

    /// The code as it is shown: `7h2k-9m4x-0qrt-v5aw`.
    var shown: String {
        stride(from: 0, to: Self.characters, by: Self.groupCharacters).map {
            String(text.dropFirst($0).prefix(Self.groupCharacters))
        }.joined(separator: "-")
    }

    /// What is stored of the code: 32 bytes.
    ///
    /// - Parameter name: the operator who has the code.
    /// - Parameter key: a secret of the servers with one database.
    func hash(of name: String, key: [UInt8]) -> [UInt8] {
        Array(
            HMAC<SHA256>.authenticationCode(
                for: Array("\(name) \(text)".utf8), using: SymmetricKey(data: key)))
    }
}
