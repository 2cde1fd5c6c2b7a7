import Eventually
import Foundation

/// Runs the command `openssl`, which verifies independently of our code.
enum OpenSSL {
    private static let path = "/usr/bin/openssl"

    static var isInstalled: Bool { FileManager.default.isExecutableFile(atPath: path) }

    /// Runs `openssl` with these arguments. Returns its exit status.
    static func run(_ arguments: [String]) throws -> Int32 {
        let process = Process()
        process.executableURL = URL(filePath: path)
        process.arguments = arguments
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        try process.run()
        return try process.waitForEnd()
    }
}

/// A folder that is deleted when its last reference is released.
final class TemporaryFolder: Sendable {
    private let url: URL

    init() throws {
        url = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    }

    deinit {
        do { try FileManager.default.removeItem(at: url) } catch {
            print("\(url.path) could not be removed: \(error)")
        }
    }

    func path(_ name: String) -> String { url.appending(path: name).path }

    /// Writes a file. Returns its path.
    @discardableResult
    func write(_ name: String, _ bytes: [UInt8]) throws -> String {
        try Data(bytes).write(to: url.appending(path: name))
        return path(name)
    }

    func read(_ name: String) throws -> [UInt8] {
        Array(try Data(contentsOf: url.appending(path: name)))
    }
}
