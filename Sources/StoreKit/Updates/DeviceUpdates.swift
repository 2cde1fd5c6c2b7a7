import Synchronization

/// Receives all events of a device from the store, for all listeners of this process. The object
/// uses one stream of the simulator, which is open while there is a listener.
///
/// Each event is delivered exactly once. The stream begins with the unfinished transactions. After
/// the connection has broken, or when a listener begins after there was none, the stream continues
/// after the last event that was published.
final class DeviceUpdates: Sendable {
    /// The wait before the first attempt to reconnect, in milliseconds. The wait doubles with each
    /// failure.
    static let retryMillisecondsMin = 20
    /// The longest wait between two attempts, in milliseconds. Attempts continue while there is a
    /// listener.
    static let retryMillisecondsMax = 2_000
    /// The wait in milliseconds between two polls for changes that the simulator does not announce
    /// in its stream.
    static let pollMilliseconds = 100

    /// The maximum number of devices that this process remembers. If the maximum is exceeded,
    /// devices without listeners are forgotten.
    static let devicesMax = 10_000
    /// The longest wait until the stream is open, in seconds.
    static let openSecondsMax = 10

    let transactions = Topic<VerificationResult<Transaction>>()
    let statuses = Topic<Product.SubscriptionInfo.Status>()
    let storefronts = Topic<Storefront>()
    let messages = Topic<Message>()
    let intents = Topic<PurchaseIntent>()

    let device: SimulatedDevice
    private let state = Mutex(State())

    private struct State {
        var listeners = 0
        /// The number of connections so far. Events of an earlier connection are dropped.
        var connection = 0
        var lastEventID: String?
        var isOpen = false
        var task: Task<Void, Never>?
        var polled = Polled()
    }

    /// The results of earlier polls. They are stored, so that each result is published only once.
    private struct Polled {
        /// The messages and intents that waited at the last poll.
        var messages: Set<String> = []
        var intents: Set<String> = []
        var country: String?
        /// Whether the stream announces storefronts, so that they need no polling.
        var isStorefrontAnnounced = false
    }

    private init(_ device: SimulatedDevice) { self.device = device }

    // MARK: - One object for each device

    private static let all = Mutex<[SimulatedDevice: DeviceUpdates]>([:])

    static func of(_ device: SimulatedDevice) -> DeviceUpdates {
        var key = device
        key.includesFinishedConsumables = false
        return all.withLock { all in
            if let known = all[key] { return known }
            if all.count >= devicesMax { all = all.filter { $0.value.hasListeners } }
            let updates = DeviceUpdates(key)
            all[key] = updates
            return updates
        }
    }

    // MARK: - Listening

    func listen<Element>(to topic: (DeviceUpdates) -> Topic<Element>) -> Listener<Element> {
        let topic = topic(self)
        let mailbox = topic.open()
        state.withLock { state in
            state.listeners += 1
            if state.listeners == 1 { state.task = Task.detached { await self.run() } }
        }
        return Listener(mailbox: mailbox) { [self] in
            topic.close(mailbox)
            state.withLock { state in
                state.listeners -= 1
                guard state.listeners == 0 else { return }
                state.task?.cancel()
                state.task = nil
                state.connection += 1
                state.isOpen = false
            }
        }
    }

    private var hasListeners: Bool { state.withLock { $0.listeners > 0 } }

    /// Returns when the stream is open and its listeners know the present storefront. Throws
    /// ``StoreKitError`` if the stream does not open in time.
    func untilOpen() async throws {
        let end = ContinuousClock.now + .seconds(Self.openSecondsMax)
        while !isReady {
            guard ContinuousClock.now < end else {
                throw StoreKitError.networkError(URLError(.timedOut))
            }
            try await Task.sleep(for: .milliseconds(Self.retryMillisecondsMin))
        }
    }

    private var isReady: Bool {
        let needsStorefront = storefronts.hasListeners
        return state.withLock { $0.isOpen && ($0.polled.country != nil || !needsStorefront) }
    }

    private func run() async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await self.runStream() }
            group.addTask { await self.runPolls() }
        }
    }

    // MARK: - The stream

    private func runStream() async {
        var delay = Self.retryMillisecondsMin
        while !Task.isCancelled {
            let (connection, last) = state.withLock { state in
                state.connection += 1
                return (state.connection, state.lastEventID)
            }
            if await read(connection, after: last) { delay = Self.retryMillisecondsMin }
            state.withLock { if $0.connection == connection { $0.isOpen = false } }
            try? await Task.sleep(for: .milliseconds(delay))
            delay = min(delay * 2, Self.retryMillisecondsMax)
        }
    }

    /// Reads one connection until it ends. Returns whether the connection was ever open.
    private func read(_ connection: Int, after last: String?) async -> Bool {
        guard var request = try? StoreClient(device).request("GET", "updates", [:]) else {
            return false
        }
        request.setValue(last, forHTTPHeaderField: "Last-Event-ID")
        var (parser, wasOpen) = (EventParser(), false)
        for await piece in EventStream.pieces(of: request) {
            switch piece {
            case .opened:
                wasOpen = true
                open(connection)
            case .bytes(let bytes):
                for event in parser.events(in: bytes) { publish(event, of: connection) }
            }
        }
        return wasOpen
    }

    private func open(_ connection: Int) {
        state.withLock { if $0.connection == connection { $0.isOpen = true } }
    }

    /// Publishes an event, and records it as the last event, in one step.
    private func publish(_ event: EventParser.Event, of connection: Int) {
        state.withLock { state in
            guard state.connection == connection else { return }
            if let id = event.id { state.lastEventID = id }
            let decoder = JSONDecoder.simulator
            switch event.name {
            case "transaction":
                let json = try? decoder.decode(Transaction.Announcement.self, from: event.data)
                let result = json.flatMap {
                    VerificationResult<Transaction>($0.signedTransaction, $0.verification)
                }
                if let result { transactions.publish(result) }
            case "status":
                let json = try? decoder.decode(
                    Product.SubscriptionInfo.Status.Payload.self, from: event.data)
                if let status = json.flatMap({ Product.SubscriptionInfo.Status($0) }) {
                    statuses.publish(status)
                }
            case "storefront":
                guard let json = try? decoder.decode(Storefront.Payload.self, from: event.data)
                else { break }
                let isKnown = state.polled.country == json.countryCode
                let isFirst = !state.polled.isStorefrontAnnounced
                (state.polled.country, state.polled.isStorefrontAnnounced) = (
                    json.countryCode, true
                )
                if isFirst || !isKnown { storefronts.publish(Storefront(json)) }
            default: break
            }
        }
    }

    // MARK: - Changes that the stream does not announce

    private func runPolls() async {
        let client = StoreClient(device)
        while !Task.isCancelled {
            if messages.hasListeners { await pollMessages(client) }
            if intents.hasListeners { await pollIntents(client) }
            if storefronts.hasListeners { await pollStorefront(client) }
            try? await Task.sleep(for: .milliseconds(Self.pollMilliseconds))
        }
    }

    private func pollMessages(_ client: StoreClient) async {
        guard let answer = try? await client.read("messages", as: Message.Waiting.self) else {
            return
        }
        let ids = Set(answer.messages.map(\.id))
        let known = state.withLock { state in
            defer { state.polled.messages = ids }
            return state.polled.messages
        }
        for message in answer.messages where !known.contains(message.id) {
            messages.publish(Message(message))
        }
    }

    /// Publishes each intent and removes it from the store, so that the store does not return it
    /// again.
    private func pollIntents(_ client: StoreClient) async {
        guard
            let answer = try? await client.read(
                "purchase-intents", as: PurchaseIntent.Waiting.self)
        else { return }
        let known = state.withLock { $0.polled.intents }
        var published = known.intersection(answer.intents.map(\.id))
        for waiting in answer.intents {
            if !published.contains(waiting.id) {
                guard let intent = await PurchaseIntent(waiting, by: client) else { continue }
                intents.publish(intent)
                published.insert(waiting.id)
            }
            struct Answer: Decodable {}
            _ = try? await client.post("purchase-intents/\(waiting.id)/take", as: Answer.self)
        }
        let all = published
        state.withLock { $0.polled.intents = all }
    }

    private func pollStorefront(_ client: StoreClient) async {
        guard !state.withLock({ $0.polled.isStorefrontAnnounced }),
            let answer = try? await client.read("storefront", as: Storefront.Payload.self)
        else { return }
        let isChanged = state.withLock { state in
            if state.polled.isStorefrontAnnounced { return false }
            defer { state.polled.country = answer.countryCode }
            return state.polled.country.map { $0 != answer.countryCode } ?? false
        }
        if isChanged { storefronts.publish(Storefront(answer)) }
    }
}
