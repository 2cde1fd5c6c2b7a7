internal import Foundation

/// The files of one device and app.
struct DeviceFiles: Sendable {
    var folder: DeviceFolder
    var state: StateFile
    var secrets: DeviceSecrets
    var catalogue: CatalogueFile

    init(_ configuration: Perennial.Configuration, secrets: DeviceSecrets? = nil) {
        folder = DeviceFolder(
            server: configuration.server, key: configuration.key,
            appGroup: configuration.appGroup, override: configuration.folder?.path)
        state = StateFile(folder: folder, bundleID: Bundle.main.bundleIdentifier ?? "")
        self.secrets = secrets ?? DeviceSecrets(folder: folder)
        catalogue = CatalogueFile(folder: folder)
    }
}
