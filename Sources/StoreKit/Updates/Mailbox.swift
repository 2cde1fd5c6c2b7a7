import Synchronization

/// A queue with one reader.
final class Mailbox<Element: Sendable>: Sendable {
    /// The maximum number of elements that wait for a reader. The oldest element is dropped first.
    static var waitingMax: Int { 10_000 }

    private struct State {
        var waiting: [Element] = []
        var reader: CheckedContinuation<Element?, Never>?
    }

    private let state: Mutex<State>

    init(_ waiting: [Element]) { state = Mutex(State(waiting: waiting)) }

    func post(_ element: Element) {
        let reader = state.withLock { state -> CheckedContinuation<Element?, Never>? in
            defer { state.reader = nil }
            if let reader = state.reader { return reader }
            state.waiting.append(element)
            if state.waiting.count > Self.waitingMax { state.waiting.removeFirst() }
            return nil
        }
        reader?.resume(returning: element)
    }

    /// Waits for the next element, and returns it. Nil if the task is cancelled.
    func next() async -> Element? {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let element = state.withLock { state -> Element?? in
                    if Task.isCancelled { return .some(nil) }
                    if !state.waiting.isEmpty { return state.waiting.removeFirst() }
                    precondition(state.reader == nil, "A sequence has one reader at a time.")
                    state.reader = continuation
                    return nil
                }
                if let element { continuation.resume(returning: element) }
            }
        } onCancel: {
            state.withLock { $0.reader.take() }?.resume(returning: nil)
        }
    }

    /// Removes and returns the unread elements.
    func drain() -> [Element] {
        state.withLock { state in
            defer { state.waiting = [] }
            return state.waiting
        }
    }
}

/// The events of one kind. Events without a listener wait for the first listener.
final class Topic<Element: Sendable>: Sendable {
    /// The maximum number of events that wait for a listener. The oldest event is dropped first.
    static var waitingMax: Int { 1000 }

    private struct State {
        var mailboxes: [ObjectIdentifier: Mailbox<Element>] = [:]
        var waiting: [Element] = []
    }

    private let state = Mutex(State())

    var hasListeners: Bool { state.withLock { !$0.mailboxes.isEmpty } }

    func publish(_ element: Element) {
        state.withLock { state in
            for mailbox in state.mailboxes.values { mailbox.post(element) }
            guard state.mailboxes.isEmpty else { return }
            state.waiting.append(element)
            if state.waiting.count > Self.waitingMax { state.waiting.removeFirst() }
        }
    }

    func open() -> Mailbox<Element> {
        state.withLock { state in
            let mailbox = Mailbox(state.waiting)
            state.waiting = []
            state.mailboxes[ObjectIdentifier(mailbox)] = mailbox
            return mailbox
        }
    }

    func close(_ mailbox: Mailbox<Element>) {
        state.withLock { state in
            state.mailboxes[ObjectIdentifier(mailbox)] = nil
            if state.mailboxes.isEmpty { state.waiting = mailbox.drain() + state.waiting }
        }
    }
}
