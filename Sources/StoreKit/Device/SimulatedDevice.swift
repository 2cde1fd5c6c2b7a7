@_exported import Foundation

/// The phone on which StoreKit's calls take place: a device of the App Store simulator.
///
/// Apple's calls are static, so the device is not an argument. A call uses the ``current`` device
/// of its task. A `Task { }` inherits the device, a `Task.detached` does not. So one test can have
/// two phones:
///
/// ```swift
/// try await SimulatedDevice.$current.withValue(ipad) {
///     for await result in Transaction.currentEntitlements { … }
/// }
/// ```
///
/// Outside of such a block, environment variables name the device: `PERENNIAL_SIMULATOR` is the
/// simulator's address (`http://127.0.0.1:8090` if it is not set), `PERENNIAL_DEVICE` the device's
/// id.
///
/// This type does not exist in Apple's StoreKit.
public struct SimulatedDevice: Hashable, Sendable {
    /// The device of the current task.
    @TaskLocal public static var current = SimulatedDevice.ofEnvironment

    /// The simulator's address, such as `http://127.0.0.1:8090`.
    public let simulator: URL
    /// The device's id, such as `anna-1`.
    public let id: String
    /// Whether ``Transaction/all`` and ``Transaction/latest(for:)`` include finished consumables,
    /// as with `SKIncludeConsumableInAppPurchaseHistory` in an app's Info.plist.
    public var includesFinishedConsumables = false
    /// Distinguishes the processes of one device. Each process has its own stream of updates.
    private(set) var launch = 0

    public init(simulator: URL, id: String) {
        self.simulator = simulator
        self.id = id
    }

    /// The device that the environment names. Its id is empty if `PERENNIAL_DEVICE` is not set.
    public static var ofEnvironment: Self {
        let environment = ProcessInfo.processInfo.environment
        let address = environment["PERENNIAL_SIMULATOR"].flatMap(URL.init(string:))
        return Self(
            simulator: address ?? defaultSimulator, id: environment["PERENNIAL_DEVICE"] ?? "")
    }

    private static let defaultSimulator: URL = {
        var address = URLComponents()
        (address.scheme, address.host, address.port) = ("http", "127.0.0.1", 8090)
        guard let url = address.url else { preconditionFailure("The address is a valid URL.") }
        return url
    }()
}

// MARK: - Time

extension SimulatedDevice {
    /// The times of a device's clocks.
    public struct Clock: Hashable, Sendable {
        /// The time of day, which the customer can set.
        public let now: Date
        /// The time since the device was started, which no setting changes.
        public let sinceBoot: Duration
        /// Identifies the period since the device was started. The value changes with each start.
        public let bootID: String
    }

    /// The device's clocks. Throws ``StoreKitError`` if the simulator does not answer.
    public func clock() async throws -> Clock {
        let answer = try await StoreClient(self).read("clock", as: ClockAnswer.self)
        guard let now = Self.date(answer.now) else {
            throw StoreKitError.systemError(SimulatorRefusal.unreadable("clock"))
        }
        return Clock(
            now: now, sinceBoot: .milliseconds(answer.monotonicMilliseconds),
            bootID: answer.bootId)
    }

    /// The time that the device shows. Throws ``StoreKitError`` if the simulator does not answer.
    public func now() async throws -> Date { try await clock().now }

    private struct ClockAnswer: Decodable {
        let now: String
        let monotonicMilliseconds: Int64
        let bootId: String
    }

    private static func date(_ text: String) -> Date? {
        try? Date(text, strategy: Date.ISO8601FormatStyle(includingFractionalSeconds: true))
    }
}

// MARK: - Process

extension SimulatedDevice {
    /// The same device after a new launch of the app. Its stream of updates begins with the
    /// unfinished transactions. Sequences of the earlier launch continue until their readers
    /// release them.
    public func relaunched() async throws -> Self {
        let app = try await StoreClient(self).post("launch", as: LaunchAnswer.self)
        var device = self
        device.launch = app.launches
        return device
    }

    /// Returns when the stream of updates is open, so that every later event reaches the sequences
    /// that are being iterated. Throws ``StoreKitError`` if the stream does not open in time, for
    /// example because no sequence is being iterated.
    public func untilListening() async throws { try await DeviceUpdates.of(self).untilOpen() }

    private struct LaunchAnswer: Decodable {
        let launches: Int
    }
}

extension SimulatedDevice: CustomStringConvertible {
    public var description: String { "\(id) of \(simulator.absoluteString)" }
}
