import Foundation
import Simulator
import StorageSQLite

/// The folder for the bench's databases. Also measures their sizes. The large database is kept for
/// the next run.
struct BenchFolder: Sendable {
    /// The environment variable with the folder's path. The folder may need many gigabytes.
    static let variable = "PERENNIAL_BENCH_DIR"

    let url: URL
    let isQuick: Bool
    let authority: SigningAuthority

    init(isQuick: Bool) throws {
        self.isQuick = isQuick
        let path = ProcessInfo.processInfo.environment[Self.variable]
        url =
            path.map { URL(fileURLWithPath: $0, isDirectory: true) }
            ?? FileManager.default.temporaryDirectory.appending(path: "perennial-bench")
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
        authority = try Self.authority(in: url)
    }

    /// Makes the authority that signs documents. Uses the same file as `perennial simulate --data`,
    /// so that the bench and the simulator sign with the same keys.
    private static func authority(in folder: URL) throws -> SigningAuthority {
        let file = folder.appending(path: "simulator-authority")
        if let stored = FileManager.default.contents(atPath: file.path) {
            return try SigningAuthority(stored: Array(stored))
        }
        let authority = try SigningAuthority()
        try Data(authority.stored).write(to: file, options: .atomic)
        return authority
    }

    func path(_ name: String) -> String { url.appending(path: name).path }

    /// Returns the path of a database, after removing its files.
    func freshDatabase(_ name: String) throws -> String {
        let path = path(name)
        // A server refuses a database that is older than its file with the place in the log.
        let files = DatabaseFiles.all(path) + [path + ".log-place"]
        for file in files where FileManager.default.fileExists(atPath: file) {
            try FileManager.default.removeItem(atPath: file)
        }
        return path
    }

    /// Removes the files with these names.
    func remove(_ isUnwanted: (String) -> Bool) throws {
        for name in try FileManager.default.contentsOfDirectory(atPath: url.path)
        where isUnwanted(name) { try FileManager.default.removeItem(atPath: path(name)) }
    }

    func count(_ full: Int, quick: Int) -> Int { isQuick ? quick : full }
}

/// The files of a SQLite database.
enum DatabaseFiles {
    static func all(_ path: String) -> [String] { [path, path + "-wal", path + "-shm"] }

    /// Writes the write-ahead log into the database file, so that the file alone is the database.
    /// The database must not be open elsewhere.
    static func checkpoint(_ path: String) throws {
        // Closing the last connection does this, if it can write.
        try SQLiteDriver(path: path).close()
        guard !FileManager.default.fileExists(atPath: path + "-wal") else {
            throw BenchFailure("\(path) is still in use")
        }
    }

    /// The size of all files together.
    static func bytes(_ path: String) throws -> Int {
        try all(path).filter { FileManager.default.fileExists(atPath: $0) }.reduce(0) { sum, file in
            let size = try FileManager.default.attributesOfItem(atPath: file)[.size] as? NSNumber
            guard let size else { throw BenchFailure("\(file) has no size") }
            return sum + size.intValue
        }
    }
}
