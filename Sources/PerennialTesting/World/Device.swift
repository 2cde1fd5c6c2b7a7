internal import Foundation
public import Perennial
internal import PerennialContract
public import StoreKit
internal import Synchronization

/// A phone in a ``World``, with one app.
public final class Device: Sendable {
    /// The device's id in the simulator, such as `anna-1`.
    public let id: String
    let clock = WorldClock()
    let routes: Routes
    private let gate: ServerGate
    private let time: MovingTime
    private let key: String
    /// The folder that contains the app's installations with their files.
    public let folder: URL
    private let state: Mutex<State>

    private struct State {
        var account: String
        var simulated: SimulatedDevice
        var life = KillSwitch()
        var installations = 0
        /// The closure with which the test changes the configuration.
        var change: @Sendable (inout Perennial.Configuration) -> Void = { _ in }
        /// The app that was launched last. Nil if this app is no longer alive.
        weak var launched: Perennial?
    }

    init(id: String, account: String, in world: World, folder: URL? = nil) {
        self.id = id
        routes = world.routes
        gate = world.gate
        time = world.time
        key = world.key
        self.folder = folder ?? world.folder.appendingPathComponent(id, isDirectory: true)
        state = Mutex(
            State(
                account: account,
                simulated: SimulatedDevice(simulator: world.simulator, id: id)))
    }

    /// The Apple account that is signed in on the device.
    public var account: String { state.withLock(\.account) }

    /// The device for StoreKit's own calls. The calls run on it within
    /// `SimulatedDevice.$current.withValue(phone.simulated)`.
    public var simulated: SimulatedDevice { state.withLock(\.simulated) }

    // MARK: - The app's process

    /// Launches the app: an instance of the SDK on this device, with the files of this
    /// installation.
    ///
    /// - Parameter change: changes the app's configuration, at this launch and all later launches.
    public func perennial(
        _ change: @escaping @Sendable (inout Perennial.Configuration) -> Void = { _ in }
    ) -> Perennial {
        let (life, simulated) = state.withLock { state in
            state.life = KillSwitch()
            state.change = change
            return (state.life, state.simulated)
        }
        return make(simulated, life)
    }

    /// Brings the app to the foreground: the app reads the store and asks the server.
    public func activate(_ perennial: Perennial) async { await perennial.enterForeground() }

    /// Ends the app's process, and launches the app again.
    public func relaunch(_ perennial: Perennial) async throws -> Perennial {
        await stop(perennial)
        return try await launch()
    }

    /// Launches the app once more, after ``stop(_:)``.
    ///
    /// - Parameter change: changes the app's configuration, at this launch and all later launches.
    ///   If nil, the earlier change applies.
    public func launch(
        _ change: (@Sendable (inout Perennial.Configuration) -> Void)? = nil
    ) async throws -> Perennial {
        let simulated = try await simulated.relaunched()
        let life = state.withLock { state in
            state.life = KillSwitch()
            state.simulated = simulated
            if let change { state.change = change }
            return state.life
        }
        return make(simulated, life)
    }

    /// The folder where the SDK of the present installation has its state and its outbox. The
    /// folder exists after the app was launched once.
    public func files() throws -> URL {
        guard let state = stateFolder else {
            throw WorldFailure("The app on \(id) was not launched yet.")
        }
        return state
    }

    /// The folder with the state of the present installation. Nil until this installation was
    /// launched and has written a file.
    private var stateFolder: URL? {
        let names = try? FileManager.default.contentsOfDirectory(atPath: installation.path)
        return names?.first { $0 != Self.cachesName }.map(installation.appendingPathComponent)
    }

    private var installation: URL {
        folder.appendingPathComponent("\(state.withLock(\.installations))")
    }

    private static let cachesName = "Caches"
    private static let secretsName = "secrets-1"

    /// The snapshot that a widget or an extension of the app reads now.
    public func stored() -> Perennial.Snapshot {
        Perennial.stored(configuration(state.withLock(\.life)), clock: clock)
    }

    private func configuration(_ life: KillSwitch) -> Perennial.Configuration {
        var configuration = Perennial.Configuration(server: gate.url(for: id, life), key: key)
        configuration.folder = installation
        state.withLock(\.change)(&configuration)
        return configuration
    }

    private func make(_ simulated: SimulatedDevice, _ life: KillSwitch) -> Perennial {
        let configuration = configuration(life)
        let made = SimulatedDevice.$current.withValue(simulated) {
            Perennial(configuration, store: DeviceBoundStore(simulated, life, time), clock: clock)
        }
        state.withLock { $0.launched = made }
        return made
    }

    /// Ends the app's process at once, even in the middle of a call.
    public func stop(_ perennial: Perennial) async {
        let life = state.withLock(\.life)
        await perennial.stop()
        bury(life)
    }

    /// Ends the app's process after a number of further exchanges with the store or the server.
    /// Each request and each answer counts as one exchange. Call ``stop(_:)`` afterwards.
    public func dies(at point: Int) { state.withLock(\.life).arm(at: point) }

    /// Whether ``dies(at:)`` ended the process. False if ``stop(_:)`` ended it before that point.
    public var wasKilled: Bool { state.withLock(\.life).wasKilled }

    /// Returns when ``dies(at:)`` or ``stop(_:)`` has ended the process.
    public func untilDead() async { await state.withLock(\.life).untilDead() }

    /// Ends all apps on this device when the world ends.
    func stop() async {
        let (life, launched) = state.withLock { ($0.life, $0.launched) }
        await launched?.stop()
        bury(life)
    }

    private func bury(_ life: KillSwitch) {
        life.bury()
        gate.breakConnections(of: life)
    }

    /// Deletes the app with its files, and installs the app again. Call ``launch(_:)`` afterwards.
    ///
    /// - Parameter keepingKeychain: whether the identity of the device survives, as it does on
    ///   Apple's systems.
    public func reinstall(keepingKeychain: Bool) async throws {
        try await routes.post("devices/\(id)/app", ["reinstall": true])
        let before = stateFolder
        let secrets = before?.appendingPathComponent(Self.secretsName)
        state.withLock { $0.installations += 1 }
        // An app that was never launched has nothing in the Keychain.
        guard keepingKeychain, let before, let secrets,
            FileManager.default.fileExists(atPath: secrets.path)
        else { return }
        let after = installation.appendingPathComponent(before.lastPathComponent)
        try FileManager.default.createDirectory(at: after, withIntermediateDirectories: true)
        try FileManager.default.copyItem(
            at: secrets, to: after.appendingPathComponent(Self.secretsName))
    }

    // MARK: - Clocks of the device

    func readClock() async throws {
        let read = try await simulated.clock()
        clock.set(
            now: Timestamp(milliseconds: Int64((read.now.timeIntervalSince1970 * 1000).rounded())),
            monotonic: Int64(read.sinceBoot / .milliseconds(1)), bootID: read.bootID)
    }

    /// Sets the device's clock a number of seconds ahead of the true time, or behind it if the
    /// number is negative.
    public func clock(isOffBy seconds: Int) async throws {
        try await routes.post("devices/\(id)/clock", ["automatic": true])
        if seconds != 0 {
            let field = seconds < 0 ? "back" : "forward"
            try await routes.post("devices/\(id)/clock", [field: "PT\(abs(seconds))S"])
        }
        try await readClock()
    }

    public func reboot() async throws {
        try await routes.post("devices/\(id)/reboot")
        try await readClock()
    }

    func change(account: String) { state.withLock { $0.account = account } }
}
