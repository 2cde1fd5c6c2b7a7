/// A device's cache of the store's answers: small files in `$XDG_CACHE_HOME`. The cache is used
/// only if the simulator cannot be reached at all. If a device is offline in a running simulator,
/// the simulator itself answers.
struct DeviceCache: Sendable {
    /// The maximum number of devices whose answers are stored. The oldest devices are removed
    /// first.
    static let devicesMax = 200
    /// The maximum size of an answer that is stored.
    static let bytesMax = 16_777_216

    private let folder: URL

    init(_ device: SimulatedDevice) {
        let address = device.simulator
        let name = "\(address.host ?? "")-\(address.port ?? 80)-\(device.id)"
        folder = Self.root.appendingPathComponent(Self.plain(name), isDirectory: true)
    }

    func read(_ path: String, _ query: [String: String]) -> Data? {
        try? Data(contentsOf: file(path, query))
    }

    /// Stores an answer. A cache that cannot be written is no error: a later read without a
    /// simulator returns nothing.
    func write(_ body: Data, as path: String, _ query: [String: String]) {
        guard body.count <= Self.bytesMax else { return }
        let files = FileManager.default
        if !files.fileExists(atPath: folder.path) {
            Self.removeOldest()
            try? files.createDirectory(at: folder, withIntermediateDirectories: true)
        }
        try? body.write(to: file(path, query), options: .atomic)
    }

    private func file(_ path: String, _ query: [String: String]) -> URL {
        let words = query.sorted { $0.key < $1.key }.map { "\($0.key)-\($0.value)" }
        let name = Self.plain(([path] + words).joined(separator: "."))
        return folder.appendingPathComponent("\(name).json")
    }

    private static let root: URL = {
        let environment = ProcessInfo.processInfo.environment
        let base =
            environment["XDG_CACHE_HOME"].map { URL(fileURLWithPath: $0, isDirectory: true) }
            ?? FileManager.default.homeDirectoryForCurrentUser.appendingPathComponent(".cache")
        return base.appendingPathComponent("perennial-storekit", isDirectory: true)
    }()

    private static func removeOldest() {
        let files = FileManager.default
        let folders =
            (try? files.contentsOfDirectory(
                at: root, includingPropertiesForKeys: [.contentModificationDateKey])) ?? []
        guard folders.count >= devicesMax else { return }
        func changed(_ url: URL) -> Date {
            let values = try? url.resourceValues(forKeys: [.contentModificationDateKey])
            return values?.contentModificationDate ?? .distantPast
        }
        for old in folders.sorted(by: { changed($0) < changed($1) }).dropLast(devicesMax - 1) {
            try? files.removeItem(at: old)
        }
    }

    /// A text that is safe as a file name.
    private static func plain(_ name: String) -> String {
        String(
            name.map { $0.isASCII && ($0.isLetter || $0.isNumber || "-.".contains($0)) ? $0 : "_" })
    }
}
