import AppStoreFormats
import Foundation

/// Receipts, answers and notifications that others have published. If they are absent, the tests
/// that need them print "skipped: no vectors".
enum LegacyVectors {
    static let directory = URL(
        filePath: ProcessInfo.processInfo.environment["PERENNIAL_VECTORS"] ?? "../shared/vectors",
        relativeTo: repository)

    private static let repository = (1...5).reduce(URL(filePath: #filePath)) { url, _ in
        url.deletingLastPathComponent()
    }

    /// Returns the files of a folder whose names end in a given way, in order. Returns an empty
    /// list if the folder is absent.
    static func files(_ folder: String, ending: String) -> [String] {
        let path = directory.appending(path: folder).path
        let names = (try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []
        if names.isEmpty { print("skipped: no vectors") }
        return names.filter { $0.hasSuffix(ending) }.sorted().map { "\(folder)/\($0)" }
    }

    static func bytes(_ path: String) throws -> [UInt8] {
        Array(try Data(contentsOf: directory.appending(path: path)))
    }

    static func json(_ path: String) throws -> JSON { try JSON(parsing: bytes(path)) }

    /// Reads a file of Base64.
    static func decoded(_ path: String) throws -> [UInt8] {
        let text = try bytes(path).filter { $0 > 0x20 }
        return try require(Base64.standard.decode(text), "\(path) is no Base64")
    }

    static var arePresent: Bool { FileManager.default.fileExists(atPath: directory.path) }
}
