/// The elements of StoreKit's sequences: a list that is read when the iteration begins, or the
/// endless events of a topic.
struct Feed<Element: Sendable>: Sendable {
    private enum Source {
        case list(@Sendable () async -> [Element])
        case topic(@Sendable () -> Listener<Element>)
    }

    private let source: Source

    static func list(_ read: @escaping @Sendable () async -> [Element]) -> Self {
        Self(source: .list(read))
    }

    /// The events of one kind on a device, beginning with the first listener.
    static func topic(
        _ topic: @escaping @Sendable (DeviceUpdates) -> Topic<Element>, of device: SimulatedDevice
    ) -> Self {
        Self(source: .topic { DeviceUpdates.of(device).listen(to: topic) })
    }

    func makeIterator() -> Iterator {
        switch source {
        case .list(let read): Iterator(read: read)
        case .topic(let listen): Iterator(listener: listen())
        }
    }

    struct Iterator {
        private var read: (@Sendable () async -> [Element])?
        private var left: ArraySlice<Element> = []
        private var listener: Listener<Element>?

        fileprivate init(read: @escaping @Sendable () async -> [Element]) { self.read = read }

        fileprivate init(listener: Listener<Element>) { self.listener = listener }

        mutating func next() async -> Element? {
            if let listener { return await listener.next() }
            if let read {
                left = await read()[...]
                self.read = nil
            }
            return Task.isCancelled ? nil : left.popFirst()
        }
    }
}

/// One iteration of a topic. When the iteration is released, its unread events return to the topic.
final class Listener<Element: Sendable>: Sendable {
    private let mailbox: Mailbox<Element>
    private let leave: @Sendable () -> Void

    init(mailbox: Mailbox<Element>, leave: @escaping @Sendable () -> Void) {
        self.mailbox = mailbox
        self.leave = leave
    }

    deinit { leave() }

    /// The next event. Nil if the task is cancelled.
    func next() async -> Element? { await mailbox.next() }
}
