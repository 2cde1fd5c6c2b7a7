import AppStoreFormats

/// One event of a stream (WHATWG HTML, "Server-sent events").
struct ServerSentEvent: Sendable {
    let name: String
    let content: JSON

    /// The encoded event. The simulator's JSON contains no line breaks.
    var bytes: [UInt8] {
        Array("event: \(name)\ndata: ".utf8) + content.bytes + Array("\n\n".utf8)
    }
}

/// Devices whose apps listen for updates of their account.
struct UpdateListeners: Sendable {
    /// Maximum number of open streams.
    static let countMax = 1000
    /// Events buffered for a slow listener; the oldest is dropped first.
    static let bufferedMax = 1000

    private struct Listener {
        var account: Account.Key
        let deviceID: String
        let continuation: AsyncStream<ServerSentEvent>.Continuation
        /// Events left until the stream ends by itself. Nil means no limit.
        var left: Int?
    }

    private var listeners: [Listener] = []

    var count: Int { listeners.count }

    func contains(_ account: Account.Key) -> Bool {
        listeners.contains { $0.account == account }
    }

    /// Opens a stream of future events, which starts with the given events.
    mutating func add(
        _ device: Device, first: [ServerSentEvent], limit: Int?
    ) throws(SimulatorProblem) -> AsyncStream<ServerSentEvent> {
        guard listeners.count < Self.countMax else {
            throw SimulatorProblem(
                "too_many_listeners", status: 429, "\(Self.countMax) update streams are open.",
                remedy: "Close some streams; a reset closes all.")
        }
        let (stream, continuation) = AsyncStream.makeStream(
            of: ServerSentEvent.self, bufferingPolicy: .bufferingNewest(Self.bufferedMax))
        for event in first.prefix(limit ?? .max) { continuation.yield(event) }
        let left = limit.map { $0 - first.count }
        if let left, left <= 0 {
            continuation.finish()
        } else {
            listeners.append(
                Listener(
                    account: device.account, deviceID: device.id, continuation: continuation,
                    left: left))
        }
        return stream
    }

    /// Moves a device's streams to the account that is now signed in.
    mutating func move(_ device: Device) {
        for index in listeners.indices where listeners[index].deviceID == device.id {
            listeners[index].account = device.account
        }
    }

    /// Sends an event to an account's devices, except the one that already knows. Removes streams
    /// that have ended, by their limit or because nobody reads them any more.
    mutating func send(
        _ account: Account.Key, except device: String?,
        _ event: (_ deviceID: String) throws(SigningFailure) -> ServerSentEvent
    ) throws(SigningFailure) {
        var ended: [Int] = []
        for index in listeners.indices
        where listeners[index].account == account && listeners[index].deviceID != device {
            let event = try event(listeners[index].deviceID)
            if case .terminated = listeners[index].continuation.yield(event) {
                ended.append(index)
            } else if let left = listeners[index].left {
                listeners[index].left = left - 1
                if left == 1 { ended.append(index) }
            }
        }
        for index in ended.reversed() { listeners.remove(at: index).continuation.finish() }
    }

    /// Ends every stream.
    mutating func finish() {
        for listener in listeners { listener.continuation.finish() }
        listeners = []
    }
}

extension AppStoreSimulator {
    /// A stream of what happens on a device from now on: each new or changed transaction, and each
    /// subscription's status. It starts with the unfinished transactions, as StoreKit delivers them
    /// when an app starts.
    ///
    /// - Parameter limit: events until the stream ends; nil for no limit.
    func updates(
        on deviceID: String, limit: Int?
    ) throws -> AsyncStream<ServerSentEvent> {
        let device = try world.device(deviceID)
        let first = try unfinished(on: deviceID).map {
            ServerSentEvent(name: "transaction", content: ["signed_transaction": .string($0)])
        }
        return try listeners.add(device, first: first, limit: limit)
    }

    func notifyListeners(of notice: NotificationDraft) throws(SigningFailure) {
        guard let name = notice.account else { return }
        let account = Account.Key(name: name, environment: notice.environment)
        guard listeners.contains(account), let transaction = notice.transaction else { return }
        func signed(_ deviceID: String) throws(SigningFailure) -> JSON {
            .string(try authority.sign(bound(transaction, to: deviceID)))
        }
        if notice.type.changesTransaction(notice.subtype) {
            try listeners.send(account, except: world.orderingDevice) {
                deviceID throws(SigningFailure) in
                ServerSentEvent(
                    name: "transaction", content: ["signed_transaction": try signed(deviceID)])
            }
        }
        guard let renewal = notice.renewal, let status = notice.status else { return }
        let renewalText = JSON.string(try authority.sign(renewal))
        try listeners.send(account, except: nil) { deviceID throws(SigningFailure) in
            let content: JSON = [
                "status": status.json, "signed_transaction": try signed(deviceID),
                "signed_renewal_info": renewalText,
            ]
            return ServerSentEvent(name: "status", content: content)
        }
    }
}

extension NotificationType {
    /// Whether the notification reports a new or changed transaction.
    fileprivate func changesTransaction(_ subtype: NotificationSubtype?) -> Bool {
        switch self {
        case .subscribed, .didRenew, .oneTimeCharge, .refund, .refundReversed, .revoke,
            .renewalExtended:
            true
        case .didChangeRenewalPref, .offerRedeemed: subtype == .upgrade
        default: false
        }
    }
}
