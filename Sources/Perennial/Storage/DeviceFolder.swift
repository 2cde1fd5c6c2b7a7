internal import Foundation

/// The folders of the SDK's files: one that lasts, and one that the system may empty.
struct DeviceFolder: Hashable, Sendable {
    /// The number of characters in a folder's name.
    private static let nameCharacters = 32
    private static let product = "Perennial"

    /// The last component of both paths: a hash of the server and the key.
    let name: String
    /// The path of the folder with state and outbox. The folder is not in backups, and is readable
    /// after the first unlock.
    let lasting: String
    /// The path of the folder with the catalogue. The system may delete this folder.
    let caches: String

    /// The folders for one server and key. The initializer does not create them: see ``create()``.
    /// The initializer runs at a launch. So it does not use `URL`: the first use of `URL` takes as
    /// long as the rest of the launch.
    ///
    /// - Parameters:
    ///   - appGroup: the group whose folder is shared with the app's extensions.
    ///   - override: the path of a folder to use instead of the system's, for tests.
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

    /// A hash of the server and the key. Because of it, two apps of one user never share a folder.
    static func name(server: URL, key: String) -> String {
        let digest = Cryptography.sha256(Array("\(server.absoluteString)\n\(key)".utf8))
        return String(digest.hexadecimal.prefix(nameCharacters))
    }

    /// The path of a file in the lasting folder.
    func path(_ file: String) -> String { lasting + "/" + file }

    func cachePath(_ file: String) -> String { caches + "/" + file }

    /// Creates both folders, for this user only, and excludes them from backups. Idempotent. A
    /// launch does not call this function, because reading needs no folder.
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

    /// Deletes both folders with everything in them. Idempotent.
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
                // On tvOS an app may write only to this folder.
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
        /// A prefix for a Mac app without a sandbox. It is needed, because such an app shares the
        /// user's folders with all other apps.
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
        /// The path, if it is absolute. Nil for a relative path, because the XDG Base Directory
        /// Specification says that relative paths are ignored.
        private static func absolute(_ path: String) -> String? {
            path.hasPrefix("/") ? path : nil
        }
    #endif
}

extension Collection<UInt8> {
    /// The bytes in lower-case hexadecimal, two digits for each byte. No formatter is used, because
    /// the property is read at a launch.
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
