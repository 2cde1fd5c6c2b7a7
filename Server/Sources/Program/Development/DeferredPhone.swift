import Synchronization

/// The phone of a ``LocalStack``, which exists once the simulator listens. The server shows the
/// phone's page, but starts before the simulator.
final class DeferredPhone: Sendable {
    private let source = Mutex<PhoneBackend?>(nil)

    func connect(_ backend: PhoneBackend) { source.withLock { $0 = backend } }

    var backend: PhoneBackend? { source.withLock { $0 } }
}
