import AppStoreFormats
import HTTPBasics
import Synchronization

/// The running simulator. The actor owns the world and its clock, signs the world's documents, and
/// posts notifications.
///
/// Everything that changes the world waits for its turn, so two callers never interleave. A call
/// returns only when everything due has happened and every delivery attempt that was due is over.
/// Reads do not wait for a turn, so a server may call back while a notification is being posted to
/// it.
package actor AppStoreSimulator {
    /// Maximum number of log entries that are returned. At most twice as many are stored.
    static let logEntriesMax = 10_000

    package nonisolated let clock: VirtualClock
    /// Signs documents for the current world.
    package nonisolated var authority: SigningAuthority { signing.withLock { $0 } }
    private nonisolated let signing: Mutex<SigningAuthority>
    private let ownAuthority: SigningAuthority
    private let keepsRoot: Bool
    let post: @Sendable (_ url: String, _ body: [UInt8]) async -> PostResult
    let quiesce: @Sendable () async -> Void
    let quiescesFirst: Bool
    let saveTime: @Sendable (AppStoreDate) throws -> Void
    private(set) var settings: SimulatorSettings
    var world: World
    private(set) var faults: Faults
    /// Status codes that verifyReceipt returns to the next requests, whatever the requests contain.
    var orderedStatuses: [OrderedStatus] = []
    private var v1Composer = V1Composer()
    /// The state of the App Store Server API.
    var api = ServerAPI()
    var recentResponses = RecentResponses()
    /// Whether the customer was eligible for the introductory offer when first checked, by device
    /// and subscription group.
    var firstEligibility: [String: [String: Bool]] = [:]
    /// Random customers who act without requests as time passes.
    private var populations: [Population] = []
    private(set) var deliveries: DeliveryQueue
    var listeners = UpdateListeners()
    /// The phones by device id. A device is absent until something specific to it has happened.
    var phones: [String: Phone] = [:]
    /// The limits of each stream of updates, in real time.
    var streamLimits = LiveStreamLimits()
    /// The maximum real time for which a sheet is held, or a caller waits for one.
    var sheetLimit = Duration.seconds(PromptList.heldSecondsMax)
    /// The moment of the last event. On a running clock the current time may be ahead of it.
    private var processedUntil: AppStoreDate
    /// The moment up to which virtual time was saved by `keepTime`. Virtual time has not passed it.
    var savedUntil: AppStoreDate
    private var logEntries: [JSON] = []
    private var isBusy = false
    private var turnWaiters: [CheckedContinuation<Void, Never>] = []

    /// - Parameters:
    ///   - keepsRoot: whether a deterministic world also signs with the given keys, because a
    ///     server trusts them. If false, the keys of such a world are derived from its seed.
    ///   - post: posts a notification's body and returns the result. It is awaited before time
    ///     continues.
    ///   - quiesce: awaited after each step that posted something, and at the end of each advance.
    ///     Lets the server finish what is due at the new time.
    ///   - quiescesFirst: whether `quiesce` is also awaited before a caller moves the clock. Needed
    ///     for a server that also works without requests, so that the work that it has begun ends
    ///     before time moves.
    ///   - keepTime: called before virtual time passes a moment. If the process stops suddenly, the
    ///     next world can begin at that moment. An error stops time and is rethrown.
    package init(
        _ settings: SimulatorSettings, authority: SigningAuthority, keepsRoot: Bool = false,
        post: @escaping @Sendable (_ url: String, _ body: [UInt8]) async -> PostResult,
        quiesce: @escaping @Sendable () async -> Void = {}, quiescesFirst: Bool = false,
        keepTime: @escaping @Sendable (AppStoreDate) throws -> Void = { _ in }
    ) {
        self.settings = settings
        ownAuthority = authority
        self.keepsRoot = keepsRoot
        signing = Mutex(authority)
        self.post = post
        self.quiesce = quiesce
        self.quiescesFirst = quiescesFirst
        self.saveTime = keepTime
        clock = VirtualClock(settings.now)
        world = World(settings)
        faults = Faults(seed: settings.seed)
        deliveries = DeliveryQueue(stopsRetryingAt400: settings.stopsRetryingAt400)
        processedUntil = settings.now
        savedUntil = settings.now
    }

    /// The root certificate to trust.
    package nonisolated var rootDER: [UInt8] { authority.rootDER }

    /// Every notification made since the last reset, in order.
    package var notifications: [SentNotification] { deliveries.all }

    /// Everything that was sent about the given accounts, in order; everything if `accounts` is
    /// nil.
    func sent(about accounts: Set<String>?) -> [SentNotification] {
        accounts.map { deliveries.made(about: $0) } ?? deliveries.made(from: 0)
    }

    /// The stored notifications of all kinds from a number on, and the number from which to
    /// continue.
    package func notifications(from number: Int) -> (made: [SentNotification], next: Int) {
        (deliveries.made(from: number), deliveries.count)
    }

    /// Documents that faults sent in addition to the real notifications. A server must refuse them.
    package var strays: [SentNotification] { deliveries.strays }

    /// The version 1 notifications made since the last reset, in order.
    package var v1Notifications: [SentNotification] { deliveries.v1 }

    /// The log: requests, notifications and delivery attempts.
    package var log: [JSON] { logEntries.suffix(Self.logEntriesMax) }

    /// Begins a new world. The root stays the same unless the world is deterministic. The clock is
    /// stopped and may move back.
    package func reset(_ settings: SimulatorSettings) async throws {
        await acquireTurn()
        defer { releaseTurn() }
        let authority = try authority(for: settings)
        try reserveTime(settings.now)
        signing.withLock { $0 = authority }
        self.settings = settings
        world = World(settings)
        faults = Faults(seed: settings.seed)
        orderedStatuses = []
        v1Composer = V1Composer()
        populations = []
        api = ServerAPI()
        recentResponses = RecentResponses()
        firstEligibility = [:]
        deliveries = DeliveryQueue(stopsRetryingAt400: settings.stopsRetryingAt400)
        processedUntil = settings.now
        logEntries = []
        listeners.finish()
        for phone in phones.values { phone.prompts.finish() }
        phones = [:]
        clock.reset(to: settings.now)
        await quiesce()
    }

    private func authority(for settings: SimulatorSettings) throws(SigningFailure)
        -> SigningAuthority
    {
        guard settings.isDeterministic else { return ownAuthority }
        if keepsRoot { return ownAuthority.deterministic }
        // Reuse an existing authority of this seed: its receipt keys may have been made already.
        for known in [authority, ownAuthority] where known.seed == settings.seed { return known }
        return try SigningAuthority(seed: settings.seed, ocspURL: ownAuthority.ocspURL)
    }

    /// Changes which faults occur from now on.
    @discardableResult
    package func setFaults<Value, Failure>(
        _ change: (inout Faults) throws(Failure) -> Value
    ) throws(Failure) -> Value {
        try change(&faults)
    }

    /// Applies one change to the world. First everything that is due happens, then the change, then
    /// its notifications are posted.
    func perform<Value: Sendable>(
        at wished: AppStoreDate? = nil,
        _ change: (inout World, AppStoreDate) throws(SimulatorProblem) -> (
            Value, [NotificationDraft]
        )
    ) async throws -> (Value, [NotificationDraft]) {
        await acquireTurn()
        defer { releaseTurn() }
        if let wished { try check(wished) }
        let now = wished ?? clock.now
        try reserveTime(now)
        try await run(until: now)
        let (value, notices) = try change(&world, now)
        try send(notices)
        world.orderingDevice = nil
        try await run(until: now)
        return (value, notices)
    }

    /// Applies a change that has no consequences in the world, without waiting for a turn. Needed
    /// if an app responds while time advances: the holder of the turn waits for that response.
    func record(
        _ change: (inout World, AppStoreDate) throws(SimulatorProblem) -> Void
    ) throws(SimulatorProblem) {
        try change(&world, clock.now)
    }

    /// Adds random customers who act as time passes. Returns their accounts' names.
    package func populate(
        _ accounts: Int, within duration: ISODuration
    ) async throws -> [String] {
        await acquireTurn()
        defer { releaseTurn() }
        let now = clock.now
        let end = world.calendar.moment(now, plus: duration)
        var population = try Population(
            accounts, number: populations.count + 1, seed: settings.seed, within: now..<end,
            in: world)
        population.isOnWholeSeconds = settings.actsOnWholeSeconds
        populations.append(population)
        return population.names
    }

    /// Changes the notification URLs of versions 2 and 1; nil stops that version. Version 1
    /// notifications already under way are still delivered, to the version 2 URL if no version 1
    /// URL is left.
    package func setNotificationURLs(signed url: String?, v1: String?) async {
        await acquireTurn()
        defer { releaseTurn() }
        settings.notificationURL = url
        settings.v1NotificationURL = v1
    }
}

// MARK: - The loop

extension AppStoreSimulator {
    /// Processes what is due, earliest first. At the same moment, a delivery comes before a world
    /// event, so that a notification is posted before anything else happens. World events come
    /// before the acts of random customers.
    func run(until target: AppStoreDate) async throws(SigningFailure) {
        while true {
            let delivery = deliveries.nextDue
            let event = world.nextDue
            let next = populations.indices.min { populations[$0].comesBefore(populations[$1]) }
            let act = next.flatMap { populations[$0].nextDue }
            let due = [delivery, event, act].compactMap { $0 }.min()
            guard let due, due <= target else { break }
            processedUntil = max(processedUntil, due)
            clock.advance(to: processedUntil)
            if delivery == due {
                try await deliverNext(at: processedUntil)
            } else if event == due {
                try send(world.processNext(at: processedUntil))
            } else if let next {
                try send(populations[next].actNext(in: &world, at: processedUntil))
            }
        }
        processedUntil = max(processedUntil, target)
        clock.advance(to: target)
    }

    private func deliverNext(at now: AppStoreDate) async throws(SigningFailure) {
        guard let (due, notification) = deliveries.dequeue(by: now),
            let url = url(of: notification)
        else { return }
        if let outage = faults.notificationOutage, outage.includes(now) {
            return deliveries.postpone(due, until: outage.until)
        }
        let body: [UInt8]
        if let letter = notification.v1 {
            body = try letter.body(
                attempt: due.attempt, at: now, by: try authority.receipts,
                digest: settings.receiptDigest)
        } else {
            body = JSON.object([.init("signedPayload", .string(notification.signedPayload))]).bytes
        }
        let answer = await post(url, notification.posted(body, attempt: due.attempt))
        deliveries.recordOutcome(answer, of: due, at: now)
        appendToLog(
            .delivery,
            [
                ("uuid", .string(notification.draft.uuid)),
                ("attempt", .integer(Int64(due.attempt))),
                ("status", answer.status.map { .integer(Int64($0)) } ?? .null),
                ("error", answer.error.map { .string($0) } ?? .null),
            ])
        await quiesce()
    }

    private func send(_ notices: [NotificationDraft]) throws(SigningFailure) {
        for notice in notices {
            let fate = faults.fate(of: notice)
            let payload = try notice.payload(
                signedBy: authority, settings, altered: Alteration(faults: fate.faults))
            let notification = SentNotification(
                draft: notice, signedPayload: try authority.sign(payload), faults: fate.faults)
            if fate.faults.contains(.otherTransactionID),
                let id = notice.transaction?.transactionId
            {
                world.transactionIDs.recordAlias(id, as: Alteration.other(id))
            }
            try notifyListeners(of: notice)
            deliveries.add(
                notification, timing: fate.timing, isSent: url(of: notification) != nil)
            appendToLog(
                .notification,
                [
                    ("uuid", .string(notice.uuid)),
                    ("account", notice.account.map { .string($0) } ?? .null),
                    ("type", notice.type.json), ("subtype", notice.subtype?.json ?? .null),
                ])
            try send(strays: fate.faults, of: notice, payload)
            try sendV1(notice, fate: settings.notificationURL == nil ? fate : Faults.Fate())
        }
    }

    /// Logs the faults of a notification, and sends the extra documents that they cause.
    private func send(
        strays faults: [NotificationFault], of notice: NotificationDraft, _ payload: JSON
    ) throws(SigningFailure) {
        for fault in faults {
            appendToLog(
                .fault,
                [("uuid", .string(notice.uuid)), ("notifications", .string(fault.rawValue))])
            guard let spoilage = fault.defect else { continue }
            let stray = SentNotification(
                draft: notice, signedPayload: try authority.sign(payload, spoiled: spoilage),
                faults: [fault], isStray: true)
            deliveries.add(stray, isSent: settings.notificationURL != nil)
        }
    }

    /// Sends the version 1 notifications of the same event. Faults apply to them only if version 2
    /// is not posted.
    private func sendV1(_ notice: NotificationDraft, fate: Faults.Fate) throws(SigningFailure) {
        guard settings.v1NotificationURL != nil else { return }
        for letter in try v1Composer.messages(for: notice, in: world, by: try authority.receipts) {
            let notification = SentNotification(
                draft: notice, signedPayload: "", faults: fate.faults, v1: letter)
            deliveries.add(notification, timing: fate.timing, isSent: true)
            appendToLog(
                .v1Notification, [("uuid", .string(notice.uuid)), ("type", letter.type.json)])
        }
    }

    /// The URL that a notification is posted to. A test has the form of version 2 whichever URL it
    /// tests.
    private func url(of notification: SentNotification) -> String? {
        if let name = notification.draft.account, world.unreportedAccounts.contains(name) {
            return nil
        }
        if notification.v1 != nil { return settings.v1NotificationURL ?? settings.notificationURL }
        let isTest = notification.draft.type == .test
        return settings.notificationURL ?? (isTest ? settings.v1NotificationURL : nil)
    }

    /// Appends an entry to the log with the current virtual time.
    func appendToLog(_ what: LogEntryKind, _ members: [(String, JSON)]) {
        // Drop many at once, so that appending to a full log stays cheap.
        if logEntries.count >= 2 * Self.logEntriesMax { logEntries.removeFirst(Self.logEntriesMax) }
        let head: [(String, JSON)] = [
            ("at", .string(RFC3339.text(clock.now))), ("what", .string(what.rawValue)),
        ]
        logEntries.append(.object((head + members).map { JSON.Member($0.0, $0.1) }))
    }

    func acquireTurn() async {
        guard isBusy else {
            isBusy = true
            return
        }
        await withCheckedContinuation { turnWaiters.append($0) }
    }

    /// Passes the turn to the caller that has waited longest.
    func releaseTurn() {
        if turnWaiters.isEmpty { isBusy = false } else { turnWaiters.removeFirst().resume() }
    }
}
