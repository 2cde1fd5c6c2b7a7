internal import AccessRules
internal import Foundation
internal import PerennialContract

/// Keeps what is known in step with the server and the App Store, and sends what the server must
/// hear. Everything that changes the state happens here, one thing after the other.
actor Engine {
    /// The shortest and the longest time between two attempts. Milliseconds.
    static let retryMin: Int64 = 1_000
    static let retryMax: Int64 = 3_600_000

    let configuration: Perennial.Configuration
    let store: any DeviceStore
    let clock: any DeviceClock
    let server: ServerClient
    let publisher: SnapshotPublisher
    let files: DeviceFiles
    let log: Log

    /// All that is known, from which snapshots follow.
    var state: EngineState

    // The parts: each has a state, decides what is to be done, and does nothing by itself.
    var identity = Identity()
    var posting = OutboxPosting()
    var reader = StoreReader()
    var session = ServerSession()
    var purchasing = Purchasing()

    // What the parts have under way.
    var opening: Task<Void, Never>?
    /// Ends when the engine that had the files before has let go of them.
    var predecessor: Task<Void, Never>?
    /// Records what the store has announced.
    var recording: Task<Void, Never>?
    var fetchingKeys: Task<Void, Never>?
    /// Asks the server to say when something changes about the customer.
    var followTask: Task<Void, Never>?
    /// The task of each purchase that has its turn or waits for it.
    var purchases: [PurchaseKey: Task<PurchaseOutcome, Never>] = [:]
    var timer: Task<Void, Never>?
    /// The number of the latest call that sets the timer.
    private var schedulings = 0
    /// No timer is set any more.
    private(set) var isOver = false

    var outbox: Outbox?
    var secrets: DeviceSecrets.Values?
    /// Another number in each process.
    let launch: Int
    /// The store's products by id, from the last answers.
    var products: [String: StoreProduct] = [:]
    var offeringsETag: String?
    /// The offerings as the server signed them, for the cache.
    var signedOfferings: String?
    var requests: RequestFile
    var requestReader: RequestReader?
    /// Wakes the reader of requests. A closure, because the type of a continuation costs a launch
    /// some microseconds.
    var resumeRequestWaiter: (@Sendable () -> Void)?

    init(
        _ configuration: Perennial.Configuration, store: any DeviceStore,
        clock: any DeviceClock, files: DeviceFiles, state: EngineState,
        publisher: SnapshotPublisher,
        stored: StoredState?, answering: SignpostInterval, transport: ServerClient.Transport?,
        after predecessor: Task<Void, Never>?
    ) {
        self.configuration = configuration
        self.store = store
        self.clock = clock
        self.files = files
        self.state = state
        self.publisher = publisher
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

    /// What the file had at the launch. Nil if there was none, or it could not be read.
    var stored: StoredState?
    /// The last snapshot whose changes were logged.
    private var logged: Perennial.Snapshot
    /// From the launch to the first evidence. Nil afterwards.
    private var answering: SignpostInterval?

    /// Runs until the task is cancelled.
    func run() async {
        await open()
        let updates = store.updates()
        let listening = Task { for await update in updates { await handle(update) } }
        let watching = Task {
            for await _ in ForegroundWatch.returns() { await enterForeground() }
        }
        await refresh(within: configuration.patience)
        await post()
        await withTaskCancellationHandler {
            await listening.value
        } onCancel: {
            listening.cancel()
            watching.cancel()
        }
        await stop()
    }

    /// See ``Perennial/stop()``. Without an outbox nothing is posted, saved or finished.
    func stop() async {
        isOver = true
        timer?.cancel()
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

// MARK: - Showing and keeping

extension Engine {
    /// For whom something is bought.
    struct Buyer: Sendable {
        /// Nil before there is a customer.
        var id: String?
        /// Nil if nobody has signed in.
        var person: String?
    }

    var buyer: Buyer { Buyer(id: state.device.customerID, person: state.person) }

    var now: Timestamp { state.clock.now(by: clock) }

    /// Shows what is known now, keeps it, and sets the timer.
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
        // Not with what was shown last: that may have changed by time alone.
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

    /// Sets the timer to the next thing that has to be done. Of several calls at a time the latest
    /// one sets it: what the others found out may have changed since.
    func schedule() async {
        schedulings &+= 1
        let number = schedulings
        timer?.cancel()
        let wait = await nextWait()
        guard number == schedulings, let wait, !isOver else { return }
        let clock = clock
        timer = Task { [weak self] in
            do { try await clock.sleep(milliseconds: wait) } catch { return }
            // In a task of its own, so that setting the next timer does not cancel its requests.
            Task { await self?.tick() }
        }
    }

    /// Milliseconds until something has to be done. Nil: nothing is planned.
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
            waits.append(max(silence, retryWait, Self.retryMin))
        }
        if mayPost {
            if session.mustAskCustomer { waits.append(max(silence, retryWait)) }
            if let first = await firstDue() {
                let wait = posting.isPosting ? max(retryWait, Self.retryMin) : 0
                waits.append(max(silence, first - now.milliseconds, wait))
            }
        }
        return waits.min().map { max($0, 1) }
    }

    /// When the first entry may be sent. Nil if this process has none to send. Milliseconds.
    func firstDue() async -> Int64? {
        guard let outbox, outbox.isWriter else { return nil }
        let entries = await outbox.entries
        return posting.firstDue(of: entries).map { max($0, now.milliseconds) }
    }

    private func tick() async {
        // What has ended may go on by now: the server knows.
        if let changesAt = publisher.changesAt, changesAt <= now { session.require(.customer) }
        let monotonic = clock.monotonic()
        if reader.beginSecondLook(at: monotonic) { await readStore() }
        if session.silence(at: monotonic) == 0 {
            if session.requires(.offerings) {
                await fetchOfferings(within: configuration.patience, isAwaited: false)
            }
            if mayPost {
                if session.mustAskCustomer {
                    try? await fetchCustomer(within: configuration.patience, isAwaited: false)
                }
                await post()
            }
        }
        await publish()
    }

    /// Milliseconds until the SDK may send something by itself.
    var budgetWait: Int64 { session.budget.wait(at: .init(by: clock)) }

    /// Whether the SDK may send something by itself, that is, what nobody waits for. What has to
    /// wait goes on with the timer.
    var mayAsk: Bool { budgetWait == 0 }

    /// The wait after the last failures of requests. Milliseconds.
    var retryWait: Int64 { Self.retryWait(after: session.failuresInARow) }

    /// The wait after so many failures in a row, with jitter. Milliseconds.
    static func retryWait(after failures: Int) -> Int64 {
        guard failures > 0 else { return 0 }
        let doubled = retryMin << min(Int64(failures - 1), 12)
        let limit = min(doubled, retryMax)
        return Int64.random(in: limit / 2...limit)
    }

    /// Whether there is somebody to speak for, and a store whose documents the server accepts.
    var mayPost: Bool { state.device.customerID != nil && !state.isXcode && outbox != nil }
}

// MARK: - Looking anew

extension Engine {
    /// Asks the server, and looks at the store. Throws nothing: what fails is tried again.
    func refresh(within timeout: TimeInterval) async {
        let environment = state.contractEnvironment
        // A slow server holds up nothing of what the store says.
        async let offerings: Void = fetchOfferings(within: timeout, isAwaited: false)
        // The store first: the server may not have heard of a purchase yet.
        let reading = Task { await readStore() }
        await wait(for: reading)
        try? await fetchCustomer(within: timeout, isAwaited: false)
        await reading.value
        await offerings
        // The store may be the first to say which of the two it is.
        if environment != state.contractEnvironment {
            await fetchOfferings(within: timeout, isAwaited: false)
        }
    }

    /// How long the server is not asked because the store has not answered. Milliseconds.
    static let storeWait: Int64 = 3_000

    /// Waits for the store, but not for long.
    private func wait(for reading: Task<Void, Never>) async {
        let (ends, end) = AsyncStream.makeStream(of: Bool.self)
        let waiting = Task {
            await reading.value
            end.yield(true)
        }
        let clock = clock
        let limit = Task {
            try await clock.sleep(milliseconds: Self.storeWait)
            end.yield(false)
        }
        for await isRead in ends {
            state.isStoreSilent = !isRead
            break
        }
        waiting.cancel()
        limit.cancel()
    }

    /// As ``refresh(within:)``, for somebody who waits for the result.
    func refreshNow() async throws(Perennial.Failure) {
        await open()
        await outbox?.hurry()
        await fetchOfferings(within: configuration.patience)
        await readStore()
        await post(isAwaited: true)
        try await fetchCustomer(within: configuration.patience)
    }

    /// The app is in front of somebody again: what may have happened meanwhile is read.
    func enterForeground() async {
        await open()
        becomeWriter()
        await outbox?.hurry()
        session.require(.customer)
        try? await fetchCustomer(within: configuration.patience, isAwaited: false)
        if !state.areOfferingsCurrent {
            await fetchOfferings(within: configuration.patience, isAwaited: false)
        }
        await readStore()
        await post()
    }
}
