import Foundation

@testable import Perennial

/// A folder of one test, deleted at its end.
final class TemporaryFolder: Sendable {
    let url: URL
    let device: DeviceFolder

    init(server: String = "https://iap.example.com", key: String = "pk_birds") throws {
        url = FileManager.default.temporaryDirectory.appendingPathComponent(
            "perennial-\(UUID().uuidString)", isDirectory: true)
        device = DeviceFolder(server: URL(string: server)!, key: key, override: url.path)
        try device.create()
    }

    deinit { try? FileManager.default.removeItem(at: url) }

    func bytes(_ path: String) throws -> [UInt8] {
        try [UInt8](Data(contentsOf: URL(fileURLWithPath: path)))
    }

    func write(_ bytes: [UInt8], to path: String) throws {
        try Data(bytes).write(to: URL(fileURLWithPath: path))
    }
}
