import AppStoreFormats
import Foundation

/// Responses and notifications that others published, which are not part of this repository. If
/// they are missing, the tests that need them print "skipped: no vectors".
enum Vectors {
    static let directory = URL(
        filePath: ProcessInfo.processInfo.environment["PERENNIAL_VECTORS"] ?? "../shared/vectors",
        relativeTo: repository)

    private static let repository = (1...4).reduce(URL(filePath: #filePath)) { url, _ in
        url.deletingLastPathComponent()
    }

    /// The JSON files of a folder, in order. Empty if there is no such folder.
    static func files(_ folder: String) -> [String] {
        let path = directory.appending(path: folder).path
        let names = (try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []
        if names.isEmpty { print("skipped: no vectors") }
        return names.filter { $0.hasSuffix(".json") }.sorted().map { "\(folder)/\($0)" }
    }

    static func json(_ path: String) throws -> JSON {
        try JSON(parsing: Array(try Data(contentsOf: directory.appending(path: path))))
    }
}
