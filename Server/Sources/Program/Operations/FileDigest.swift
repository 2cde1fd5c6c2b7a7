import Crypto
import Engine
import Foundation

/// The SHA-256 of files of any size, as 64 lower-case hexadecimal digits.
enum FileDigest {
    /// The number of bytes that are in memory at once.
    private static let partBytes = 1 << 20

    /// - Throws: Foundation's error if the file cannot be read.
    static func sha256(of path: String) throws -> String {
        try sha256(of: path) { _ in }
    }

    /// Copies the bytes of a file to a new file, which only this user can read. Returns the digest
    /// of these bytes.
    static func copy(_ path: String, to fresh: String) throws -> String {
        try Disk.make(fresh)
        let target = try FileHandle(forWritingTo: URL(fileURLWithPath: fresh))
        defer { try? target.close() }
        return try sha256(of: path) { try target.write(contentsOf: $0) }
    }

    private static func sha256(of path: String, _ body: (Data) throws -> Void) throws -> String {
        let file = try FileHandle(forReadingFrom: URL(fileURLWithPath: path))
        defer { try? file.close() }
        var hash = SHA256()
        while let part = try file.read(upToCount: partBytes), !part.isEmpty {
            try Task.checkCancellation()
            hash.update(data: part)
            try body(part)
        }
        return Hexadecimal.text(Array(hash.finalize()))
    }
}
