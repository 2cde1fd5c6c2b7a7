internal import Foundation
internal import PerennialContract

extension Perennial {
    /// The last snapshot in the app's files, for widgets and extensions that have the app's
    /// `appGroup`, server and key in their configuration. The function sends and writes nothing,
    /// and does not listen to the store. The snapshot is unknown if the app was never launched, and
    /// before the first unlock after a restart of the device.
    public static func stored(_ configuration: Configuration) -> Snapshot {
        stored(configuration, files: DeviceFiles(configuration), clock: SystemClock())
    }

    package static func stored(
        _ configuration: Configuration, clock: any DeviceClock
    ) -> Snapshot {
        stored(configuration, files: DeviceFiles(configuration), clock: clock)
    }

    private static func stored(
        _ configuration: Configuration, files: DeviceFiles, clock: any DeviceClock
    ) -> Snapshot {
        let stored = try? files.storedState(configuration)
        var state = EngineState(launching: configuration, stored, clock: clock)
        if let stored, let secrets = files.secrets.kept() {
            state.device.storeEvidence.isTrusted = state.prove(
                stored, by: secrets.code, in: files.state, named: configuration.namedCustomer,
                device: clock)
        }
        _ = state.readOfferings(
            bundled: configuration.bundledOfferings, files.catalogue.read())
        // The app had read the store before it wrote the file.
        state.isStoreRead = true
        let now = state.clock.now(by: clock)
        return state.makeSnapshot(of: state.makeEvidence(at: now)).snapshot
    }
}
