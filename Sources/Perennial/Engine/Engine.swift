internal import AccessRules
internal import Foundation
internal import PerennialContract

/// Synchronizes the state with the server and the App Store, and sends what the server needs. Every
/// change of the state happens here, one after the other.
actor Engine {
    let configuration: Perennial.Configuration
    let store: any DeviceStore
    let clock: any DeviceClock
    let server: ServerClient
    let publisher: SnapshotPublisher
    let files: DeviceFiles
    let log: Log
    nonisolated let attributes: AttributeSender

    /// All known values. Snapshots are computed from this state.
    var state: EngineState

    // The parts. Each part has a state and decides what must be done. The engine does it.
    var identity = Identity()
    var posting = OutboxPosting()
    var reader = StoreReader()
    var session = ServerSession()
    var purchasing = Purchasing()

    // The tasks that the parts have started.
    var opening: Task<Void, Never>?
    /// The task of the previous engine. It ends when that engine has released the files.
    var predecessor: Task<Void, Never>?
    /// The task that records what the store has announced.
    var recording: Task<Void, Never>?
    var fetchingKeys: Task<Void, Never>?
    /// The task that waits for the server to report changes of the customer.
    var followTask: Task<Void, Never>?
    /// The task of each purchase that runs or waits.
    var purchases: [PurchaseKey: Task<PurchaseOutcome, Never>] = [:]
    private var timer = EngineTimer()
    /// Whether the engine was stopped. No timer is set after the stop.
    private(set) var isOver = false

    var outbox: Outbox?
    var secrets: DeviceSecrets.Values?
    /// A number that differs in each process.
    let launch: Int
    /// The store's products by id, from the last answers.
    var products: [String: StoreProduct] = [:]
    var offeringsETag: String?
    /// The offerings in the form that the server signed, for the cache.
    var signedOfferings: String?
    var requests: RequestFile
    var requestReader: RequestReader?
    /// Resumes the reader of requests. The property is a closure, because the type of a
    /// continuation would cost some microseconds at a launch.
    var resumeRequestWaiter: (@Sendable () -> Void)?

    init(
        _ configuration: Perennial.Configuration, store: any DeviceStore,
        clock: any DeviceClock, files: DeviceFiles, state: EngineState,
        publisher: SnapshotPublisher, attributes: AttributeSender,
        stored: StoredState?, answering: SignpostInterval, transport: ServerClient.Transport?,
        after predecessor: Task<Void, Never>?
    ) {
        self.configuration = configuration
        self.store = store
        self.clock = clock
        self.files = files
        self.state = state
        self.publisher = publisher
        self.attributes = attributes
        server = ServerClient(
            base: configuration.server, key: configuration.key, proof: configuration.proof,
            transport: transport)
        log = Log(configuration.log)
        launch = Int.random(in: 1...Int.max)
        requests = RequestFile(folder: files.folder)
        self.stored = stored
        self.predecessor = predecessor
        logged = publisher.snapshot
        self.answering = logged.isAnythingKnown ? nil : answering
        if logged.isAnythingKnown { answering.close() }
    }

    /// The state that the file contained at the launch. Nil if there was no file, or if the file
    /// could not be read.
    var stored: StoredState?
    /// The last snapshot whose changes were logged.
    private var logged: Perennial.Snapshot
    /// Measures the time from the launch to the first evidence. Nil after the first evidence.
    private var answering: SignpostInterval?

    /// Runs the engine until the task is cancelled.
    func run() async {
        await open()
        let updates = store.updates()
        let listening = Task { for await update in updates { await handle(update) } }
        let watching = Task {
            for await _ in ForegroundWatch.returns() { await enterForeground() }
        }
        let additions = attributes.additions()
        await refresh(within: configuration.patience)
        await post()
        let sending = Task {
            for await _ in additions {
                await attributes.post(through: self)
                await schedule()
            }
        }
        await withTaskCancellationHandler {
            await listening.value
        } onCancel: {
            listening.cancel()
            watching.cancel()
            sending.cancel()
        }
        await stop()
    }

    /// Stops the engine: see ``Perennial/stop()``. Without an outbox the engine posts, saves and
    /// finishes nothing.
    func stop() async {
        isOver = true
        timer.task?.cancel()
        followTask?.cancel()
        resumeRequestReader()
        let last = outbox
        outbox = nil
        await last?.close()
    }

    static func randomBytes(_ count: Int) -> [UInt8] {
        var generator = SystemRandomNumberGenerator()
        return (0..<count).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
    }
}

/// The timer of the engine.
private struct EngineTimer {
    var task: Task<Void, Never>?
    /// The number of calls that have set the timer.
    var settings = 0
}

// MARK: - Publishing and saving

extension Engine {
    /// The customer for whom something is bought.
    struct Buyer: Sendable {
        /// The customer's id. Nil before there is a customer.
        var id: String?
        /// The customer's id as a person. Nil if nobody has signed in.
        var person: String?
    }

    var buyer: Buyer { Buyer(id: state.device.customerID, person: state.person) }

    var now: Timestamp { state.clock.now(by: clock) }

    /// Publishes what is known now, saves it, and sets the timer.
    @discardableResult
    func publish() async -> Perennial.Snapshot {
        let snapshot = publisher.publish(state)
        if snapshot.isAnythingKnown {
            answering?.close()
            answering = nil
        }
        logChanges(to: snapshot)
        save()
        await schedule()
        return snapshot
    }

    private func logChanges(to after: Perennial.Snapshot) {
        // The last snapshot is not taken from the publisher, because the passing of time may have
        // changed the publisher's snapshot.
        let before = logged
        logged = after
        for (name, access) in after.access.sorted(by: { $0.key.rawValue < $1.key.rawValue })
        where before[name].isActive != access.isActive || before[name].state != access.state {
            let rule = publisher.decision(on: name.rawValue).rule
            log.notice(
                "access",
                "\(name.rawValue) is \(access.isActive ? "open" : "shut") "
                    + "(\(access.state.rawValue), by \(access.basis.rawValue), rule \(rule)).")
        }
    }

    private func save() {
        guard let secrets, outbox?.isWriter == true else { return }
        state.clock.advance(monotonic: clock.monotonic(), bootID: clock.bootID())
        state.device.anchor = state.clock.anchor.map {
            TimeAnchor(
                signedAt: $0.signed, monotonicMilliseconds: $0.monotonic, bootID: $0.bootID)
        }
        do { try files.state.write(state.device, code: secrets.code) } catch {
            log.error("store", "The state could not be saved: \(error).")
        }
    }

    /// Sets the timer to the next task that is due. If several calls run concurrently, only the
    /// latest call sets the timer, because the results of the earlier calls may be outdated.
    func schedule() async {
        timer.settings &+= 1
        let number = timer.settings
        timer.task?.cancel()
        let wait = await nextWait()
        guard number == timer.settings, let wait, !isOver else { return }
        let clock = clock
        timer.task = Task { [weak self] in
            do { try await clock.sleep(milliseconds: wait) } catch { return }
            // The tick is a separate task, so that setting the next timer does not cancel its
            // requests.
            Task { await self?.tick() }
        }
    }

    /// The milliseconds until the next task is due. Nil if nothing is planned.
    func nextWait() async -> Int64? {
        var waits: [Int64] = []
        let now = now
        if let changesAt = publisher.changesAt {
            waits.append(changesAt.milliseconds - now.milliseconds)
        }
        let monotonic = clock.monotonic()
        if let at = reader.secondLookAt { waits.append(at - monotonic) }
        let silence = max(session.silence(at: monotonic), budgetWait)
        if session.requires(.offerings) {
            waits.append(max(silence, retryWait, RetryPauses.min))
        }
        if outbox?.isWriter == true, let wait = await attributes.wait(at: monotonic) {
            waits.append(max(silence, wait))
        }
        if mayPost {
            if session.mustAskCustomer { waits.append(max(silence, retryWait)) }
            if let first = await firstDue() {
                let wait = posting.isPosting ? max(retryWait, RetryPauses.min) : 0
                waits.append(max(silence, first - now.milliseconds, wait))
            }
        }
        return waits.min().map { max($0, 1) }
    }

    /// When the first entry may be sent, in milliseconds since 1970. Nil if this process has
    /// nothing to send.
    func firstDue() async -> Int64? {
        guard let outbox, outbox.isWriter else { return nil }
        let entries = await outbox.entries
        return posting.firstDue(of: entries, at: now).map { max($0, now.milliseconds) }
    }

    private func tick() async {
        // A subscription whose period has ended may have renewed by now. The server knows whether
        // the subscription has renewed.
        if let changesAt = publisher.changesAt, changesAt <= now { session.require(.customer) }
        let monotonic = clock.monotonic()
        if reader.beginSecondLook(at: monotonic) { await readStore() }
        if session.silence(at: monotonic) == 0 {
            if session.requires(.offerings) {
                await fetchOfferings(within: configuration.patience, isAwaited: false)
            }
            await attributes.post(through: self)
            if mayPost {
                if session.mustAskCustomer {
                    try? await fetchCustomer(within: configuration.patience, isAwaited: false)
                }
                await post()
            }
        }
        await publish()
    }

    /// The milliseconds until the SDK may send a request that no caller waits for.
    var budgetWait: Int64 { session.budget.wait(at: .init(by: clock)) }

    /// Whether the SDK may send a request that no caller waits for. If not, the timer sends the
    /// request later.
    var mayAsk: Bool { budgetWait == 0 }

    /// The wait in milliseconds after the latest failed requests.
    var retryWait: Int64 { RetryPauses.wait(after: session.failuresInARow) }

    /// Whether there is a customer to post for, and a store whose documents the server accepts.
    var mayPost: Bool { state.device.customerID != nil && !state.isXcode && outbox != nil }
}
