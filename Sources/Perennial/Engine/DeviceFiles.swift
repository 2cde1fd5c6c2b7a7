internal import Foundation

/// The files of one device and app.
struct DeviceFiles: Sendable {
    var folder: DeviceFolder
    var state: StateFile
    var secrets: DeviceSecrets
    var catalogue: CatalogueFile

    init(_ configuration: Perennial.Configuration) {
        folder = DeviceFolder(
            server: configuration.server, key: configuration.key,
            appGroup: configuration.appGroup, override: configuration.folder?.path)
        state = StateFile(folder: folder, bundleID: Self.bundleID)
        secrets = DeviceSecrets(folder: folder, accessGroup: configuration.appGroup)
        catalogue = CatalogueFile(folder: folder)
    }

    /// The stored state. Nil if there is no usable file. Throws if the file cannot be read now, for
    /// example before the first unlock.
    func storedState(
        _ configuration: Perennial.Configuration
    ) throws(FileFailure) -> StoredState? {
        let pinned = configuration.trustedKeys.compactMap {
            SigningKey(id: $0.id, x: $0.x, y: $0.y)
        }
        switch state.read(pinned: pinned, customer: configuration.namedCustomer) {
        case .found(let found): return found
        case .unreadable(let failure): throw failure
        case .absent, .foreign: return nil
        }
    }

    /// The bundle id of the app, also in an extension, whose bundle is in a folder of the app.
    /// Empty on Linux, where a program has no bundle.
    private static var bundleID: String {
        #if canImport(Darwin)
            let bundle = Bundle.main
            guard bundle.bundlePath.hasSuffix(".appex"),
                let end = bundle.bundlePath.range(of: ".app/")?.lowerBound
            else { return bundle.bundleIdentifier ?? "" }
            let app = Bundle(path: String(bundle.bundlePath[..<end]) + ".app")
            return app?.bundleIdentifier ?? ""
        #else
            return ""
        #endif
    }
}
