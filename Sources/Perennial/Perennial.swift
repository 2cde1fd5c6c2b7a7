public import Foundation
internal import PerennialContract

/// Purchases, access and identity of one app. Make one at launch and keep it.
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
    /// What the server is told with each purchase.
    static let libraryName = "perennial-swift/\(version)"

    let publisher: SnapshotPublisher
    let part: Part
    /// Nil if a script plays.
    private let running: RunningEngine?

    /// Listens to the store from now on. Reads one small file; asks neither network nor Keychain
    /// before it returns. A second one for the same server and key is the first one's twin, and its
    /// `customer` is not used: call ``identify(_:)``.
    public convenience init(server: URL, key: String, customer: String? = nil) {
        var configuration = Configuration(server: server, key: key)
        configuration.customer = customer
        self.init(configuration)
    }

    /// A second one for the same server and key, in one process, is the first one's twin: it shows
    /// and does the same, and its configuration is not used.
    public convenience init(_ configuration: Configuration) {
        self.init(RunningEngine.shared(configuration))
    }

    /// With another store and other clocks. Never a twin.
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

    /// Played by a script: never connects, reads and writes no file, and listens to no store.
    ///
    /// - Parameter snapshot: what is known, until ``show(_:)``.
    package init(playing script: any Script, showing snapshot: Snapshot, clock: any DeviceClock) {
        running = nil
        part = .script(script)
        publisher = SnapshotPublisher(scripted: snapshot, clock: clock)
    }

    /// Publishes what a script says. Not for one that has an engine.
    package func show(_ snapshot: Snapshot) { publisher.show(snapshot) }

    /// What the app's coming to the foreground causes. Apple's systems tell of it by themselves.
    package func enterForeground() async { await running?.engine.enterForeground() }

    /// Ends everything at once, as the end of the process does: nothing more is written, sent or
    /// finished. What was being done goes on at the next launch.
    package func stop() async { await running?.stop() }

    /// What is open now: from memory, on any thread. Never waits, never throws.
    public subscript(_ entitlement: EntitlementID) -> Access { snapshot[entitlement] }

    /// All that is known, of one moment.
    public var snapshot: Snapshot {
        if #available(iOS 17, macOS 14, tvOS 17, watchOS 10, *) { publisher.registerReading() }
        return publisher.snapshot
    }

    /// The time as far as it is proven: never before what Apple or the server has signed.
    public var now: Date { publisher.now.date }

    /// Each new snapshot, the present one first. Equal ones are not repeated, and a late reader
    /// misses the middle.
    public var changes: AsyncStream<Snapshot> { publisher.changes() }

    /// Each change of one entitlement, the present state first.
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

    /// Waits until it is known whether an entitlement is open or shut; returns what there is after
    /// a time in any case: see ``Access/isKnown``.
    ///
    /// - Parameter seconds: how long to wait at most.
    @discardableResult
    public func known(
        _ entitlement: EntitlementID, withinSeconds seconds: TimeInterval = 3
    ) async -> Access {
        await first(withinSeconds: seconds) { $0[entitlement].isKnown }[entitlement]
    }

    /// Waits until everything is known; returns what there is after a time in any case. What is
    /// open may be known sooner: see ``known(_:withinSeconds:)``.
    ///
    /// - Parameter seconds: how long to wait at most.
    @discardableResult
    public func known(withinSeconds seconds: TimeInterval = 3) async -> Snapshot {
        await first(withinSeconds: seconds) { $0.isKnown }
    }

    /// As ``known(withinSeconds:)``.
    ///
    /// - Parameter timeout: how long to wait at most.
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

    /// Asks server and store anew. Not needed in the usual course: launch, foreground, purchases
    /// and updates do so.
    ///
    /// - Throws: `Failure` if the server cannot be asked. What the store says is taken even then.
    @discardableResult
    public func refresh() async throws(Failure) -> Snapshot {
        switch part {
        case .script(let script): try await script.refresh()
        case .engine(let engine): try await engine.refreshNow()
        }
        return snapshot
    }
}
