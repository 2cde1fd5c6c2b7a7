import AppStoreFormats
import Foundation

/// Answers and notifications that others have published, which are not part of this repository.
/// Tests that need them say "skipped: no vectors" where they are absent.
enum Vectors {
    static let directory = URL(
        filePath: ProcessInfo.processInfo.environment["PERENNIAL_VECTORS"] ?? "../shared/vectors",
        relativeTo: repository)

    private static let repository = (1...4).reduce(URL(filePath: #filePath)) { url, _ in
        url.deletingLastPathComponent()
    }

    /// The JSON files of a folder, in order. Empty where there is none.
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
