/// A bucket, and the folder in it: `s3://bucket/prefix`.
///
/// The names have only characters that need no encoding in a path.
package struct BucketAddress: Hashable, Sendable, CustomStringConvertible {
    /// What an address begins with.
    package static let scheme = "s3://"
    private static let bucketCharacters = 3...63
    private static let prefixCharactersMax = 500

    package let bucket: String
    /// Without slashes at its ends; empty for the whole bucket.
    package let prefix: String

    /// Reads an address. Returns nil if it is none, or has other characters than letters, digits,
    /// `-`, `_`, `.` and `/`.
    package init?(_ text: String) {
        guard text.hasPrefix(Self.scheme) else { return nil }
        let parts = text.dropFirst(Self.scheme.count)
            .split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        bucket = String(parts[0])
        var rest = parts.count > 1 ? parts[1] : ""
        if rest.count > 1, rest.hasSuffix("/") { rest = rest.dropLast() }
        prefix = String(rest)
        let folders = prefix.split(separator: "/", omittingEmptySubsequences: false)
        let isPlain = folders.allSatisfy { !$0.isEmpty && $0 != "." && $0 != ".." }
        guard Self.bucketCharacters.contains(bucket.utf8.count), bucket != "..",
            bucket.allSatisfy({ Self.isName($0) && !$0.isUppercase && $0 != "_" }),
            prefix.isEmpty || isPlain, prefix.utf8.count <= Self.prefixCharactersMax,
            prefix.allSatisfy({ Self.isName($0) || $0 == "/" })
        else { return nil }
    }

    private static func isName(_ character: Character) -> Bool {
        character.isASCII
            && (character.isLetter || character.isNumber || "-_.".contains(character))
    }

    /// The address of an object in the folder.
    package func description(of name: String) -> String { "\(self)/\(name)" }

    package var description: String {
        Self.scheme + bucket + (prefix.isEmpty ? "" : "/\(prefix)")
    }

    /// The key of an object in the folder.
    func key(of name: String) -> String { prefix.isEmpty ? name : "\(prefix)/\(name)" }

    /// The name of an object in the folder. Returns nil for another key.
    func name(of key: String) -> String? {
        guard !prefix.isEmpty else { return key }
        guard key.hasPrefix("\(prefix)/") else { return nil }
        return String(key.dropFirst(prefix.count + 1))
    }
}
