internal import Foundation

/// An engine that runs as long as somebody keeps this.
final class RunningEngine: Sendable {
    let engine: Engine
    let picture: Picture
    private let running: Task<Void, Never>
    private let path: String

    init(
        _ configuration: Perennial.Configuration, store: any DeviceStore,
        clock: any DeviceClock, files: DeviceFiles
    ) {
        let starting = SignpostInterval("init")
        let answering = SignpostInterval("first-answer")
        defer { starting.close() }
        let stored = files.storedState(configuration)
        let memory = Memory(launching: configuration, stored, clock: clock)
        let picture = Picture(memory, clock: clock)
        let engine = Engine(
            configuration, store: store, clock: clock, files: files, memory: memory,
            picture: picture, stored: stored, answering: answering)
        self.engine = engine
        self.picture = picture
        path = files.folder.lasting
        running = Task { await engine.run() }
    }

    deinit { running.cancel() }

    /// Ends everything at once. See ``Perennial/stop()``.
    func stop() async {
        Self.all.withLock { all in all.removeAll { $0.value === self } }
        running.cancel()
        await engine.stop()
    }

    // MARK: - One for each folder

    /// Unchecked: it is only used under the lock of ``all``.
    private final class Weak: @unchecked Sendable {
        weak var value: RunningEngine?

        init(_ value: RunningEngine) { self.value = value }
    }

    /// A few, so no dictionary: its first use costs a launch some microseconds.
    private static let all = Locked<[Weak]>([])

    /// The engine of this process for these files: two would write to one file. A second caller
    /// gets the first one's, with its configuration.
    static func shared(_ configuration: Perennial.Configuration) -> RunningEngine {
        let files = DeviceFiles(configuration)
        let (found, isTwin) = all.withLock { all -> (RunningEngine, Bool) in
            all.removeAll { $0.value == nil }
            for running in all.compactMap(\.value) where running.path == files.folder.lasting {
                return (running, true)
            }
            let made = RunningEngine(
                configuration, store: StoreKitStore(), clock: SystemClock(), files: files)
            all.append(Weak(made))
            return (made, false)
        }
        if isTwin {
            Log(configuration.log).error(
                "access",
                "A second Perennial was made for one server and key. It is the first one's twin, "
                    + "and its own configuration is not used. Make one at launch and keep it.")
        }
        return found
    }
}
