internal import Foundation

/// An engine that runs as long as this object lives.
final class RunningEngine: Sendable {
    let engine: Engine
    let publisher: SnapshotPublisher
    private let running: Task<Void, Never>
    private let path: String

    init(
        _ configuration: Perennial.Configuration, store: any DeviceStore,
        clock: any DeviceClock, files: DeviceFiles, transport: ServerClient.Transport? = nil,
        after predecessor: Task<Void, Never>? = nil
    ) {
        let starting = SignpostInterval("init")
        let answering = SignpostInterval("first-answer")
        defer { starting.close() }
        let stored: StoredState?
        var isStateUnreadable = false
        do { stored = try files.storedState(configuration) } catch {
            stored = nil
            isStateUnreadable = true
        }
        let state = EngineState(launching: configuration, stored, clock: clock)
        let publisher = SnapshotPublisher(state, clock: clock)
        let engine = Engine(
            configuration, store: store, clock: clock, files: files, state: state,
            publisher: publisher,
            attributes: AttributeSender(
                configuration, folder: files.folder, publisher: publisher, clock: clock,
                isStateUnreadable: isStateUnreadable),
            stored: stored, answering: answering, transport: transport,
            after: predecessor)
        self.engine = engine
        self.publisher = publisher
        path = files.folder.lasting
        running = Task { await engine.run() }
    }

    deinit {
        running.cancel()
        let (engine, path) = (engine, path)
        let task = Task { await engine.stop() }
        Self.ending.withLock { $0.append(Ending(path: path, task: task)) }
    }

    /// Stops the engine at once. See ``Perennial/stop()``.
    func stop() async {
        Self.all.withLock { all in all.removeAll { $0.value === self } }
        running.cancel()
        await engine.stop()
    }

    // MARK: - One engine for each folder

    /// A weak reference to an engine. Unchecked, because it is used only under the lock of ``all``.
    private final class Weak: @unchecked Sendable {
        weak var value: RunningEngine?

        init(_ value: RunningEngine) { self.value = value }
    }

    /// The engines of this process. This is an array, because there are few engines, and the first
    /// use of a dictionary would cost some microseconds at a launch.
    private static let all = Locked<[Weak]>([])

    /// The tasks of engines that were released. Each task releases the files of its engine before
    /// the next engine reads them.
    private static let ending = Locked<[Ending]>([])

    private struct Ending: Sendable {
        var path: String
        var task: Task<Void, Never>
    }

    /// Removes and returns the task whose end releases the files of a folder. Nil if no engine used
    /// the files.
    private static func removeEnding(at path: String) -> Task<Void, Never>? {
        ending.withLock { ending in
            let last = ending.last { $0.path == path }
            ending.removeAll { $0.path == path }
            return last?.task
        }
    }

    /// The engine of this process for the files of a configuration. Two engines would write to one
    /// file, so there is only one. A second caller gets the first caller's engine, with the first
    /// caller's configuration.
    static func shared(_ configuration: Perennial.Configuration) -> RunningEngine {
        let files = DeviceFiles(configuration)
        let (found, isTwin) = all.withLock { all -> (RunningEngine, Bool) in
            all.removeAll { $0.value == nil }
            for running in all.compactMap(\.value) where running.path == files.folder.lasting {
                return (running, true)
            }
            let made = RunningEngine(
                configuration, store: StoreKitStore(), clock: SystemClock(), files: files,
                after: removeEnding(at: files.folder.lasting))
            all.append(Weak(made))
            return (made, false)
        }
        if isTwin {
            Log(configuration.log).error(
                "access",
                "A second Perennial was created for one server and key. It is a twin "
                    + "of the first one: it uses the same engine, and its own configuration is "
                    + "ignored. Create one Perennial at launch and keep it.")
        }
        return found
    }
}
