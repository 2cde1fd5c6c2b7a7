import Synchronization

/// The phone of a ``LocalStack``, available once the simulator listens. Needed because the server,
/// which shows its page, starts before the simulator.
final class DeferredPhone: Sendable {
    private let source = Mutex<PhoneBackend?>(nil)

    func connect(_ backend: PhoneBackend) { source.withLock { $0 = backend } }

    var backend: PhoneBackend? { source.withLock { $0 } }
}
