import AppStoreFormats

/// One event of a stream (WHATWG HTML, “Server-sent events”).
struct ServerSentEvent: Sendable {
    let name: String
    let content: JSON

    /// As it goes over the wire. JSON of ours has no line breaks.
    var bytes: [UInt8] {
        Array("event: \(name)\ndata: ".utf8) + content.bytes + Array("\n\n".utf8)
    }
}

/// Devices whose apps listen for what happens to their account.
struct Listeners: Sendable {
    /// Streams at one time.
    static let countMax = 1000
    /// Events that wait for a slow listener; the oldest goes first.
    static let waitingMax = 1000

    private struct Listener {
        let account: Account.Key
        let deviceID: String
        let continuation: AsyncStream<ServerSentEvent>.Continuation
        /// Events until the stream ends by itself; nil for no end.
        var left: Int?
    }

    private var listeners: [Listener] = []

    var count: Int { listeners.count }

    func contains(_ account: Account.Key) -> Bool {
        listeners.contains { $0.account == account }
    }

    /// A stream of what happens from now on, after the events given.
    mutating func add(
        _ device: Device, first: [ServerSentEvent], limit: Int?
    ) throws(StoreProblem) -> AsyncStream<ServerSentEvent> {
        guard listeners.count < Self.countMax else {
            throw StoreProblem(
                "too_many_listeners", status: 429, "\(Self.countMax) devices listen already.",
                remedy: "Close some streams; a reset closes all.")
        }
        let (stream, continuation) = AsyncStream.makeStream(
            of: ServerSentEvent.self, bufferingPolicy: .bufferingNewest(Self.waitingMax))
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

    /// Tells an account's devices, except the one that knows already. Forgets those whose stream
    /// has ended: by its limit, or because nobody reads it any more.
    mutating func tell(_ event: ServerSentEvent, to account: Account.Key, except device: String?) {
        var ended: [Int] = []
        for index in listeners.indices
        where listeners[index].account == account && listeners[index].deviceID != device {
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
    /// What happens on a device from now on: each new or changed transaction, and where each
    /// subscription stands. At first come the transactions that are not finished, as StoreKit hands
    /// them over when an app starts.
    ///
    /// - Parameter limit: events until the stream ends; nil for no end.
    func updates(
        on deviceID: String, limit: Int?
    ) throws -> AsyncStream<ServerSentEvent> {
        let device = try world.device(deviceID)
        let first = try unfinished(on: deviceID).map {
            ServerSentEvent(name: "transaction", content: ["signed_transaction": .string($0)])
        }
        return try listeners.add(device, first: first, limit: limit)
    }

    func tellListeners(of notice: Notice) throws(SigningFailure) {
        guard let name = notice.account else { return }
        let account = Account.Key(name: name, environment: notice.environment)
        guard listeners.contains(account), let transaction = notice.transaction else { return }
        let signed = JSON.string(try authority.sign(transaction))
        if notice.type.changesTransaction(notice.subtype) {
            let event = ServerSentEvent(
                name: "transaction", content: ["signed_transaction": signed])
            listeners.tell(event, to: account, except: world.actingDevice)
        }
        guard let renewal = notice.renewal, let status = notice.status else { return }
        let content: JSON = [
            "status": status.json, "signed_transaction": signed,
            "signed_renewal_info": .string(try authority.sign(renewal)),
        ]
        listeners.tell(
            ServerSentEvent(name: "status", content: content), to: account, except: nil)
    }
}

extension NotificationType {
    /// Whether what is notified is a new transaction, or a change of one.
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
