import AppStoreFormats

/// Devices whose apps listen for updates of their account.
///
/// The events of a device are numbered in one order. The newest events are stored, so that a client
/// whose connection broke can continue after the last event that it has. Numbers are never reused,
/// not even after a reset.
struct UpdateListeners: Sendable {
    /// Maximum number of open streams, and of devices whose events are kept.
    static let countMax = 1000
    /// Maximum number of events buffered for a slow listener; the oldest is dropped first. The
    /// buffer must have space for all stored events, and for the ticks that come before the
    /// listener reads.
    static let bufferedMax = keptMax + 64
    /// Maximum number of stored events of a device, and of events that wait while it has no
    /// network.
    static let keptMax = 1000

    private struct Listener {
        let continuation: AsyncStream<ServerSentEvent>.Continuation
        /// The number of events after which the stream ends. Nil means no limit.
        var left: Int?
    }

    /// The events of one device that has listened at least once.
    private struct DeviceLog {
        let deviceID: String
        var account: Account.Key
        /// The number of the newest event that is no longer stored.
        var floor: Int64
        var kept: [ServerSentEvent] = []
        /// The events that happened while the device had no network. Nil while the device has a
        /// network.
        var held: [ServerSentEvent]?
        var listeners: [Listener] = []
    }

    private var logs: [DeviceLog] = []
    private var lastID: Int64 = 0
    /// Devices without a network, including those without listeners.
    private var holding: Set<String> = []

    var count: Int { logs.reduce(0) { $0 + $1.listeners.count } }

    func contains(_ account: Account.Key) -> Bool { logs.contains { $0.account == account } }

    // MARK: - Opening

    /// Opens a stream of a device's future events, which starts with the given events.
    mutating func add(
        _ device: Device, first: [ServerSentEvent], limit: Int?
    ) throws(SimulatorProblem) -> UpdateStream {
        let index = try indexOfLog(of: device)
        let numbered = first.prefix(limit ?? .max).map { number($0) }
        for event in numbered { append(event, toLog: index) }
        return open(at: index, first: numbered, limit: limit)
    }

    /// Opens a stream of the events after the one with this number. Returns nil if some of these
    /// events are no longer stored; the client then begins again.
    mutating func resume(
        _ device: Device, after id: Int64, limit: Int?
    ) throws(SimulatorProblem) -> UpdateStream? {
        guard id <= lastID, let index = logs.firstIndex(where: { $0.deviceID == device.id }),
            logs[index].floor <= id
        else { return nil }
        try checkCount()
        let missed = logs[index].kept.filter { ($0.id ?? 0) > id }.prefix(limit ?? .max)
        return open(at: index, first: Array(missed), limit: limit)
    }

    private mutating func open(
        at index: Int, first: [ServerSentEvent], limit: Int?
    ) -> UpdateStream {
        let (stream, continuation) = AsyncStream.makeStream(
            of: ServerSentEvent.self, bufferingPolicy: .bufferingNewest(Self.bufferedMax))
        for event in first { continuation.yield(event) }
        let left = limit.map { $0 - first.count }
        if let left, left <= 0 {
            continuation.finish()
        } else {
            logs[index].listeners.append(Listener(continuation: continuation, left: left))
        }
        return UpdateStream(events: stream, sink: continuation, first: first)
    }

    /// The log of a device, which is created when it listens for the first time.
    private mutating func indexOfLog(of device: Device) throws(SimulatorProblem) -> Int {
        try checkCount()
        if let index = logs.firstIndex(where: { $0.deviceID == device.id }) { return index }
        if logs.count >= Self.countMax, let idle = logs.firstIndex(where: \.listeners.isEmpty) {
            logs.remove(at: idle)
        }
        lastID += 1
        logs.append(
            DeviceLog(
                deviceID: device.id, account: device.account, floor: lastID,
                held: holding.contains(device.id) ? [] : nil))
        return logs.count - 1
    }

    private func checkCount() throws(SimulatorProblem) {
        guard count < Self.countMax else {
            throw SimulatorProblem(
                "too_many_listeners", status: 429, "\(Self.countMax) update streams are open.",
                remedy: "Close some streams; a reset closes all.")
        }
    }

    // MARK: - Events

    /// Moves a device's streams to the account that is now signed in.
    mutating func move(_ device: Device) {
        for index in logs.indices where logs[index].deviceID == device.id {
            logs[index].account = device.account
        }
    }

    /// Appends an event to the streams of an account's devices, except `device`, which already
    /// knows it. Returns the events that reached a listening app.
    mutating func send(
        _ account: Account.Key, except device: String?,
        _ event: (_ deviceID: String) throws(SigningFailure) -> ServerSentEvent
    ) throws(SigningFailure) -> [(deviceID: String, event: ServerSentEvent)] {
        var delivered: [(deviceID: String, event: ServerSentEvent)] = []
        for index in logs.indices
        where logs[index].account == account && logs[index].deviceID != device {
            let event = try event(logs[index].deviceID)
            if deliver(event, at: index) { delivered.append((logs[index].deviceID, event)) }
        }
        return delivered
    }

    /// Appends an event to the stream of one device. Does nothing if the device has never listened.
    /// Returns whether the event reached a listening app.
    @discardableResult
    mutating func append(_ event: ServerSentEvent, to deviceID: String) -> Bool {
        guard let index = logs.firstIndex(where: { $0.deviceID == deviceID }) else { return false }
        return deliver(event, at: index)
    }

    /// Holds a device's events back from now on, or releases them. Returns the released events that
    /// reached an app. The app may begin to listen while events are held.
    mutating func setHolding(_ isHolding: Bool, on device: Device) -> [ServerSentEvent] {
        if isHolding { holding.insert(device.id) } else { holding.remove(device.id) }
        guard
            let index = isHolding
                ? try? indexOfLog(of: device)
                : logs.firstIndex(where: { $0.deviceID == device.id })
        else { return [] }
        let released = logs[index].held ?? []
        if isHolding {
            logs[index].held = released
            return []
        }
        logs[index].held = nil
        return released.filter { deliver($0, at: index) }
    }

    /// Ends every stream.
    mutating func finish() {
        for log in logs { for listener in log.listeners { listener.continuation.finish() } }
        logs = []
        holding = []
    }

    /// Numbers an event, stores it and sends it to a device's listeners. Removes listeners that
    /// have ended, because they have reached their limit or their reader is gone.
    private mutating func deliver(_ event: ServerSentEvent, at index: Int) -> Bool {
        guard logs[index].held == nil else {
            logs[index].held?.append(event)
            if logs[index].held?.count ?? 0 > Self.keptMax { logs[index].held?.removeFirst() }
            return false
        }
        let event = number(event)
        append(event, toLog: index)
        var isDelivered = false
        for place in logs[index].listeners.indices.reversed() {
            let listener = logs[index].listeners[place]
            if case .terminated = listener.continuation.yield(event) {
                logs[index].listeners.remove(at: place)
                continue
            }
            isDelivered = true
            guard let left = listener.left else { continue }
            logs[index].listeners[place].left = left - 1
            if left == 1 { logs[index].listeners.remove(at: place).continuation.finish() }
        }
        return isDelivered
    }

    private mutating func number(_ event: ServerSentEvent) -> ServerSentEvent {
        lastID += 1
        var event = event
        event.id = lastID
        return event
    }

    private mutating func append(_ event: ServerSentEvent, toLog index: Int) {
        logs[index].kept.append(event)
        guard logs[index].kept.count > Self.keptMax else { return }
        logs[index].floor = logs[index].kept.removeFirst().id ?? logs[index].floor
    }
}
