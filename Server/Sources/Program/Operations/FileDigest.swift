import Crypto
import Engine
import Foundation

/// The SHA-256 of files of any size.
enum FileDigest {
    /// The number of bytes that are in memory at once.
    private static let partBytes = 1 << 20

    /// - Returns: 64 lower-case hexadecimal digits.
    /// - Throws: Foundation's error if the file cannot be read.
    static func sha256(of path: String) throws -> String {
        let file = try FileHandle(forReadingFrom: URL(fileURLWithPath: path))
        defer { try? file.close() }
        var hash = SHA256()
        while let part = try file.read(upToCount: partBytes), !part.isEmpty {
            hash.update(data: part)
        }
        return Hexadecimal.text(Array(hash.finalize()))
    }
}
