import Synchronization

/// The phone of a ``LocalStack``, from when the simulator listens. Needed because the server, which
/// shows its page, starts before the simulator.
final class DeferredPhone: Sendable {
    private let source = Mutex<PhoneDesk?>(nil)

    func connect(_ desk: PhoneDesk) { source.withLock { $0 = desk } }

    var desk: PhoneDesk? { source.withLock { $0 } }
}
