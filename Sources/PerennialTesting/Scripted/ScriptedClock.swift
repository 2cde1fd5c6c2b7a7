internal import Foundation
internal import Perennial
internal import PerennialContract

/// A clock that shows the time that the script sets.
final class ScriptedClock: DeviceClock {
    private let time: Locked<Timestamp>

    init(_ now: Date) { time = Locked(Timestamp(now)) }

    func set(_ now: Timestamp) { time.withLock { $0 = now } }

    func now() -> Timestamp { time.withLock { $0 } }
    func monotonic() -> Int64 { now().milliseconds }
    func bootID() -> String { "scripted" }

    /// Throws at once, because a script has no timers.
    func sleep(milliseconds: Int64) async throws { throw CancellationError() }
}
