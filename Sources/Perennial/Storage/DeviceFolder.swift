internal import Foundation

/// Where the SDK's files are: one folder that lasts, and one that the system may empty.
struct DeviceFolder: Hashable, Sendable {
    /// The characters of a folder's name.
    private static let nameCharacters = 32
    private static let product = "Perennial"

    /// A hash of server and key: the last component of both paths.
    let name: String
    /// The path of state and outbox. Not in backups; readable after the first unlock.
    let lasting: String
    /// The path of the catalogue. The system may delete it.
    let caches: String

    /// The folders for one server and key. Creates nothing: see ``create()``. On the launch path,
    /// and so without `URL`, whose first use takes as long as all else there.
    ///
    /// - Parameters:
    ///   - appGroup: the group whose folder is shared with the app's extensions.
    ///   - override: the path of a folder in place of the system's, as for tests.
    ///   - variable: reads a variable of the process's environment.
    init(
        server: URL, key: String, appGroup: String? = nil, override: String? = nil,
        variable: (String) -> String? = { getenv($0).map { String(cString: $0) } }
    ) {
        name = Self.name(server: server, key: key)
        let places =
            override.map { (lasting: $0, caches: $0 + "/Caches") }
            ?? Self.places(appGroup: appGroup, variable: variable)
        lasting = places.lasting + "/" + name
        caches = places.caches + "/" + name
    }

    /// A hash of the server and the key, so that two apps of one user never share a folder.
    static func name(server: URL, key: String) -> String {
        let digest = Cryptography.sha256(Array("\(server.absoluteString)\n\(key)".utf8))
        return String(digest.hexadecimal.prefix(nameCharacters))
    }

    /// The path of a file that lasts.
    func path(_ file: String) -> String { lasting + "/" + file }

    func cachePath(_ file: String) -> String { caches + "/" + file }

    /// Creates both folders for this user only, and keeps them out of backups. Idempotent. Not for
    /// the launch: reading needs no folder.
    func create() throws {
        for folder in [lasting, caches] {
            try FileManager.default.createDirectory(
                atPath: folder, withIntermediateDirectories: true, attributes: Self.attributes)
        }
        #if canImport(Darwin)
            var values = URLResourceValues()
            values.isExcludedFromBackup = true
            var folder = URL(fileURLWithPath: lasting, isDirectory: true)
            try folder.setResourceValues(values)
        #endif
    }

    /// Deletes both folders with all they contain. Idempotent.
    func erase() throws {
        for folder in [lasting, caches]
        where FileManager.default.fileExists(atPath: folder) {
            try FileManager.default.removeItem(atPath: folder)
        }
    }

    private static var attributes: [FileAttributeKey: Any] {
        var attributes: [FileAttributeKey: Any] = [
            .posixPermissions: NSNumber(value: FileBytes.folderMode)
        ]
        #if os(iOS) || os(tvOS) || os(watchOS) || os(visionOS)
            attributes[.protectionKey] = FileProtectionType.completeUntilFirstUserAuthentication
        #endif
        return attributes
    }

    private static func places(
        appGroup: String?, variable: (String) -> String?
    ) -> (lasting: String, caches: String) {
        #if canImport(Darwin)
            let group = appGroup.flatMap {
                FileManager.default.containerURL(forSecurityApplicationGroupIdentifier: $0)?.path
            }
            let library = (group ?? NSHomeDirectory()) + "/Library"
            let caches = library + "/Caches"
            #if os(tvOS)
                // The only folder that an app may write there.
                let lasting = caches
            #else
                let lasting = library + "/Application Support"
            #endif
            let own = "/" + owner(inGroup: group != nil) + product
            return (lasting + own, caches + own)
        #else
            let home = variable("HOME").flatMap(absolute) ?? NSHomeDirectory()
            let lasting = variable("XDG_STATE_HOME").flatMap(absolute) ?? home + "/.local/state"
            let caches = variable("XDG_CACHE_HOME").flatMap(absolute) ?? home + "/.cache"
            let own = "/" + product.lowercased()
            return (lasting + own, caches + own)
        #endif
    }

    #if canImport(Darwin)
        /// A Mac app without a sandbox shares the user's folders with all other apps.
        private static func owner(inGroup: Bool) -> String {
            #if os(macOS)
                let isSandboxed = getenv("APP_SANDBOX_CONTAINER_ID") != nil
                guard inGroup || isSandboxed else {
                    return (Bundle.main.bundleIdentifier ?? "unnamed") + "/"
                }
            #endif
            return ""
        }
    #else
        /// The XDG Base Directory Specification has relative paths ignored.
        private static func absolute(_ path: String) -> String? {
            path.hasPrefix("/") ? path : nil
        }
    #endif
}

extension Collection<UInt8> {
    /// Two lower-case digits for each byte. Written by hand: on the launch path.
    var hexadecimal: String {
        let digits = Array("0123456789abcdef".utf8)
        var text: [UInt8] = []
        text.reserveCapacity(2 * count)
        for byte in self {
            text.append(digits[Int(byte >> 4)])
            text.append(digits[Int(byte & 15)])
        }
        return String(decoding: text, as: UTF8.self)
    }
}
