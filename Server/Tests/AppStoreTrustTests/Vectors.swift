import Foundation

/// Documents of third parties, which are not part of this repository. If they are missing, the
/// tests that need them print "skipped: no vectors".
enum Vectors {
    static let directory = URL(
        filePath: ProcessInfo.processInfo.environment["PERENNIAL_VECTORS"] ?? "../shared/vectors",
        relativeTo: repository)

    static var arePresent: Bool {
        FileManager.default.fileExists(atPath: directory.appending(path: "apple-library").path)
    }

    static func bytes(_ path: String) throws -> [UInt8] {
        Array(try Data(contentsOf: directory.appending(path: path)))
    }

    private static let repository = (1...4).reduce(URL(filePath: #filePath)) { url, _ in
        url.deletingLastPathComponent()
    }
}
