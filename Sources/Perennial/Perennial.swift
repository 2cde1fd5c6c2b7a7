public import Foundation
internal import PerennialContract

/// The purchases, access and identity of one app. Create one instance at launch, and keep it.
///
///     let perennial = Perennial(server: URL(string: "https://iap.example.com")!, key: "pk_…")
///
///     if perennial["pro"].isActive { … }
///     try await perennial.purchase("pro.monthly")
///     try await perennial.restore()
///     for await snapshot in perennial.changes { … }
public final class Perennial: Sendable {
    /// The version of this library, as semver.org defines it.
    public static let version = "0.1.0"
    /// The name of the library, which is posted with each purchase.
    static let libraryName = "perennial-swift/\(version)"

    let publisher: SnapshotPublisher
    let part: Part
    /// The engine. Nil if a script replaces it.
    private let running: RunningEngine?

    /// Begins to listen to the store. Before the initializer returns, it reads one small file, and
    /// uses neither the network nor the Keychain. A second instance for the same server and key
    /// shares the engine of the first. The `customer` of the second instance is ignored, so call
    /// ``identify(_:)``.
    public convenience init(server: URL, key: String, customer: String? = nil) {
        var configuration = Configuration(server: server, key: key)
        configuration.customer = customer
        self.init(configuration)
    }

    /// Begins to listen to the store. A second instance for the same server and key, in the same
    /// process, shares the engine of the first. Both instances show the same snapshots, and the
    /// configuration of the second is ignored.
    public convenience init(_ configuration: Configuration) {
        self.init(RunningEngine.shared(configuration))
    }

    /// Creates an instance with another store and other clocks. The instance never shares an
    /// engine.
    package convenience init(
        _ configuration: Configuration, store: any DeviceStore, clock: any DeviceClock
    ) {
        self.init(configuration, store: store, clock: clock, files: DeviceFiles(configuration))
    }

    convenience init(
        _ configuration: Configuration, store: any DeviceStore, clock: any DeviceClock,
        files: DeviceFiles, transport: ServerClient.Transport? = nil
    ) {
        self.init(
            RunningEngine(
                configuration, store: store, clock: clock, files: files, transport: transport))
    }

    private init(_ running: RunningEngine) {
        self.running = running
        part = .engine(running.engine)
        publisher = running.publisher
    }

    /// Creates an instance that a script controls. The instance never connects, reads and writes no
    /// file, and does not listen to a store.
    ///
    /// - Parameter snapshot: the snapshot that is shown until ``show(_:)``.
    package init(playing script: any Script, showing snapshot: Snapshot, clock: any DeviceClock) {
        running = nil
        part = .script(script)
        publisher = SnapshotPublisher(scripted: snapshot, clock: clock)
    }

    /// Publishes a script's snapshot. Do not call this function on an instance with an engine.
    package func show(_ snapshot: Snapshot) { publisher.show(snapshot) }

    /// Does what the SDK does automatically on Apple's systems when the app comes to the
    /// foreground.
    package func enterForeground() async { await running?.engine.enterForeground() }

    /// Stops the instance at once, as the end of the process would: from then on, it writes, sends
    /// and finishes nothing. Unfinished work continues at the next launch.
    package func stop() async { await running?.stop() }

    /// Whether an entitlement is open now. The value is read from memory, on any thread. The read
    /// never waits and never throws.
    public subscript(_ entitlement: EntitlementID) -> Access { snapshot[entitlement] }

    /// Everything that is known at one moment.
    public var snapshot: Snapshot {
        if #available(iOS 17, macOS 14, tvOS 17, watchOS 10, *) { publisher.registerReading() }
        return publisher.snapshot
    }

    /// The proven time, which is never before a time that Apple or the server has signed.
    public var now: Date { publisher.now.date }

    /// Each new snapshot, beginning with the present one. Equal snapshots are not repeated. A slow
    /// reader skips older snapshots.
    public var changes: AsyncStream<Snapshot> { publisher.changes() }

    /// Each change of one entitlement, beginning with its present state.
    public func changes(of entitlement: EntitlementID) -> AsyncStream<Access> {
        let changes = publisher.changes()
        let (stream, continuation) = AsyncStream.makeStream(
            of: Access.self, bufferingPolicy: .bufferingNewest(1))
        let following = Task {
            var last: Access?
            for await snapshot in changes where snapshot[entitlement] != last {
                last = snapshot[entitlement]
                continuation.yield(snapshot[entitlement])
            }
            continuation.finish()
        }
        continuation.onTermination = { _ in following.cancel() }
        return stream
    }

    /// Waits until it is known whether an entitlement is open or shut. After the time limit,
    /// returns the present state: see ``Access/isKnown``.
    ///
    /// - Parameter seconds: the time limit in seconds.
    @discardableResult
    public func known(
        _ entitlement: EntitlementID, withinSeconds seconds: TimeInterval = 3
    ) async -> Access {
        await first(withinSeconds: seconds) { $0[entitlement].isKnown }[entitlement]
    }

    /// Waits until everything is known. After the time limit, returns the present snapshot. Whether
    /// one entitlement is open may be known sooner: see ``known(_:withinSeconds:)``.
    ///
    /// - Parameter seconds: the time limit in seconds.
    @discardableResult
    public func known(withinSeconds seconds: TimeInterval = 3) async -> Snapshot {
        await first(withinSeconds: seconds) { $0.isKnown }
    }

    /// Waits until everything is known, as ``known(withinSeconds:)`` does.
    ///
    /// - Parameter timeout: the time limit.
    @available(iOS 16, macOS 13, tvOS 16, watchOS 9, *)
    @discardableResult
    public func known(within timeout: Duration) async -> Snapshot {
        await known(withinSeconds: timeout / .seconds(1))
    }

    private func first(
        withinSeconds seconds: TimeInterval, where fits: @escaping @Sendable (Snapshot) -> Bool
    ) async -> Snapshot {
        let changes = publisher.changes()
        let waiting = Task { () -> Snapshot? in
            for await snapshot in changes where fits(snapshot) { return snapshot }
            return nil
        }
        let limit = Task {
            try await Task.sleep(nanoseconds: seconds.nanoseconds)
            waiting.cancel()
        }
        let found = await waiting.value
        limit.cancel()
        return found ?? snapshot
    }

    /// Requests the newest state from the server and the store. Usually not needed, because the SDK
    /// does this at a launch, in the foreground, and after purchases and updates.
    ///
    /// - Throws: `Failure` if the server cannot be asked. The store's answer is recorded even then.
    @discardableResult
    public func refresh() async throws(Failure) -> Snapshot {
        switch part {
        case .script(let script): try await script.refresh()
        case .engine(let engine): try await engine.refreshNow()
        }
        return snapshot
    }
}
