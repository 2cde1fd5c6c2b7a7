public import Foundation
internal import Perennial

/// An App Store, a Perennial server and a clock, for the tests of an app.
///
///     let world = try await World.start()
///     let phone = try await world.device(of: "anna")
///     let perennial = phone.perennial()
///     try await perennial.purchase("pro.monthly")
///     try await world.advance(.seconds(31 * 86_400))
///
/// The world's time stands still until ``advance(_:)``. The world runs `perennial dev`. The program
/// is the one that `PERENNIAL_PROGRAM` names; otherwise this repository's debug build; otherwise
/// the program in `PATH`.
public actor World {
    /// The address of the simulated App Store.
    public nonisolated let simulator: URL
    /// The address of the server itself. ``serverIs(_:)`` does not affect requests to it.
    public nonisolated let server: URL
    /// The app key of the world's app.
    public nonisolated let key: String
    nonisolated let folder: URL
    nonisolated let gate: ServerGate
    nonisolated let time = MovingTime()
    nonisolated let routes: Routes
    let program: WorldProgram?
    private(set) var devices: [Device] = []

    /// Whether a world can be used: there is a program to start, or a running world.
    public static var isAvailable: Bool {
        ProcessInfo.processInfo.environment["PERENNIAL_WORLD"] != nil || WorldProgram.path != nil
    }

    /// Starts a new world on free ports, in a new temporary folder. If `PERENNIAL_WORLD` is set,
    /// connects to the world that the variable names, as
    /// `http://127.0.0.1:8090 http://127.0.0.1:8080 pk_dev_birds`.
    ///
    /// - Parameters:
    ///   - storekit: the StoreKit file that the configuration names, if it is in another folder.
    ///   - configuration: a `perennial.yaml` with one simulated app. If nil, the world has the
    ///     example app, which sells `pro.monthly`, `pro.yearly`, `guide`, `season.spring` and
    ///     `seeds.100`.
    ///   - database: the address of an empty PostgreSQL database. If nil, the world uses an SQLite
    ///     file.
    public static func start(
        storekit: URL? = nil, configuration: URL? = nil, database: String? = nil
    ) async throws -> World {
        if let named = ProcessInfo.processInfo.environment["PERENNIAL_WORLD"] {
            return try connect(named: named)
        }
        let folder = try makeFolder()
        let file = try configuration.map { try copy($0, storekit, to: folder) }
        let program = try await WorldProgram.start(
            in: folder, configuration: file, database: database)
        return try World(
            simulator: program.simulator, server: program.server, key: program.key,
            folder: folder, program: program)
    }

    /// Connects to the world that a value of `PERENNIAL_WORLD` names.
    static func connect(named name: String) throws -> World {
        let words = name.split(separator: " ").map(String.init)
        guard words.count == 3, let simulator = URL(string: words[0]), simulator.host != nil,
            let server = URL(string: words[1]), server.host != nil
        else {
            throw WorldFailure(
                "PERENNIAL_WORLD is \"\(name)\". Write the addresses of the simulator and of the "
                    + "server and an app key, with a space between.")
        }
        return try connect(simulator: simulator, server: server, key: words[2])
    }

    /// Connects to a world that already runs. That world does not end with this object.
    public static func connect(simulator: URL, server: URL, key: String) throws -> World {
        try World(
            simulator: simulator, server: server, key: key, folder: makeFolder(), program: nil)
    }

    private static func makeFolder() throws -> URL {
        let folder = FileManager.default.temporaryDirectory
            .appendingPathComponent("world-\(UUID().uuidString)", isDirectory: true)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        return folder
    }

    /// A copy of the configuration beside a copy of its StoreKit file. Without a StoreKit file, the
    /// configuration is not copied.
    private static func copy(
        _ configuration: URL, _ storekit: URL?, to folder: URL
    ) throws -> URL {
        guard let storekit else { return configuration }
        let copy = folder.appendingPathComponent("perennial.yaml")
        try FileManager.default.copyItem(at: configuration, to: copy)
        try FileManager.default.copyItem(
            at: storekit, to: folder.appendingPathComponent(storekit.lastPathComponent))
        return copy
    }

    private init(
        simulator: URL, server: URL, key: String, folder: URL, program: WorldProgram?
    ) throws {
        self.simulator = simulator
        self.server = server
        self.key = key
        self.folder = folder
        self.program = program
        gate = try ServerGate(to: server, time)
        routes = Routes(base: simulator.appendingPathComponent("_sim"))
    }

    /// Ends the program, and deletes the world's folder. Idempotent.
    public func stop() async {
        for device in devices { await device.stop() }
        devices = []
        gate.stop()
        program?.stop()
        try? FileManager.default.removeItem(at: folder)
    }

    /// Adds a phone of an Apple account. Creates the account if it does not exist.
    ///
    /// - Parameter options: further fields of the simulator's `POST /_sim/devices`, such as
    ///   `ask_to_buy` or `family`.
    public func device(
        of account: String, _ options: [String: any Sendable] = [:]
    ) async throws -> Device {
        let answer = try await routes.post(
            "devices", options.merging(["account": account]) { $1 }, as: DeviceAnswer.self)
        let device = Device(id: answer.deviceId, account: account, in: self)
        try await device.readClock()
        devices.append(device)
        return device
    }

    private struct DeviceAnswer: Decodable { let deviceId: String }

    /// Returns an existing phone, for example a phone that another process uses.
    ///
    /// - Parameter folder: the folder with the app's files. If nil, the files are in a new folder.
    public func device(withID id: String, of account: String, folder: URL? = nil) async throws
        -> Device
    {
        let device = Device(id: id, account: account, in: self, folder: folder)
        try await device.readClock()
        devices.append(device)
        return device
    }

    /// Moves the world's time. First the App Store and the server do their due work, then the
    /// timers of the devices fire.
    public func advance(_ time: Duration) async throws {
        let (seconds, attoseconds) = time.components
        let milliseconds = seconds * 1000 + attoseconds / 1_000_000_000_000_000
        let text = "PT\(milliseconds / 1000).\(String(format: "%03d", milliseconds % 1000))S"
        self.time.begin()
        defer { self.time.stop() }
        try await routes.post("clock", ["advance": text])
        for device in devices { try await device.readClock() }
    }

    /// Sets whether and how the server answers the devices from now on.
    public func serverIs(_ reach: Reach) { gate.set(reach) }

    /// Resets the App Store's world with other settings: fields of the simulator's
    /// `POST /_sim/reset`. Call this function before the first device is added.
    public func set(_ fields: [String: any Sendable]) async throws {
        try await routes.post("reset", fields)
    }

    /// Sets faults between Apple and the server, with their probabilities: fields of the
    /// simulator's `POST /_sim/faults`.
    public func faults(_ fields: [String: any Sendable]) async throws {
        try await routes.post("faults", fields)
    }

    /// Makes the server sign its tokens with another key from now on, as `perennial keys rotate`
    /// does. Throws for a world to which this process has only connected.
    public func rotateTokenKey() async throws {
        guard let program else { throw WorldFailure("This process did not start the world.") }
        try await program.run(["keys", "rotate"])
    }

    /// What an account may use now, according to the simulator.
    public func truth(of account: String) async throws -> Truth {
        try await routes.get("truth/\(account)", as: Truth.self)
    }

    /// How a server or a store can be reached.
    public enum Reach: Hashable, Sendable {
        case up
        case down
        /// Every request is answered with a status, and with `Retry-After` if seconds are given.
        case answering(Int, retryAfter: Int? = nil)
        /// Every request is answered after a number of seconds, in real time.
        case slow(Double)
        /// Every request is processed, but its answer is lost.
        case losingAnswers
    }
}

/// An error of the world itself.
public struct WorldFailure: Error, CustomStringConvertible {
    public let description: String

    init(_ description: String) { self.description = description }
}
