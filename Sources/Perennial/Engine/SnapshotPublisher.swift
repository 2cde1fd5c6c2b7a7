internal import AccessRules
internal import Foundation
internal import Observation
internal import PerennialContract

#if canImport(Combine)
    internal import Combine
#endif

/// The current snapshot, readable on any thread, and its followers.
///
/// If the passing of time has changed a decision since the snapshot was published, a read decides
/// again. So a read is correct even if the app was suspended and no timer has run.
final class SnapshotPublisher: Sendable {
    private struct Shown: Sendable {
        var engine: EngineState
        var evidence: Evidence
        var snapshot: Perennial.Snapshot
        var changesAt: Timestamp?
        var followers: [Int: AsyncStream<Perennial.Snapshot>.Continuation] = [:]
        var followersMade = 0
    }

    /// The maximum number of streams at a time. A further stream ends at once.
    static let followersMax = 1000

    private let shown: Locked<Shown>
    private let clock: any DeviceClock
    /// The `ObservationRegistrar`. The property has the type `any Sendable`, because
    /// `ObservationRegistrar` exists only since iOS 17.
    private let registrar: any Sendable
    #if canImport(Combine)
        // Unsafe, because Combine does not declare its publishers sendable. A publisher locks
        // itself.
        nonisolated(unsafe) let objectWillChange = ObservableObjectPublisher()
    #endif

    init(_ engine: EngineState, clock: any DeviceClock) {
        self.clock = clock
        let evidence = engine.makeEvidence(
            at: engine.clock.now(by: clock))
        let (snapshot, changesAt) = engine.makeSnapshot(of: evidence)
        shown = Locked(
            Shown(
                engine: engine, evidence: evidence, snapshot: snapshot, changesAt: changesAt))
        if #available(iOS 17, macOS 14, tvOS 17, watchOS 10, *) {
            registrar = ObservationRegistrar()
        } else {
            registrar = 0
        }
    }

    deinit {
        let followers = shown.withLock { $0.followers.values.map(\.self) }
        for follower in followers { follower.finish() }
    }

    /// The publisher of a script, which shows this snapshot until ``show(_:)``.
    convenience init(scripted snapshot: Perennial.Snapshot, clock: any DeviceClock) {
        let engine = EngineState(
            device: DeviceState(keys: KeyRing()), clock: ReckonedClock(), silentHold: 0)
        self.init(engine, clock: clock)
        shown.withLock {
            $0.snapshot = snapshot
            $0.changesAt = nil
        }
    }

    /// The reckoned time.
    var now: Timestamp { shown.withLock { $0.engine.clock }.now(by: clock) }

    /// The reckoned time, the time that the device's clock shows, and whether the reckoned time is
    /// independent of that clock.
    var clockReading: (now: Timestamp, shown: Timestamp, isCounted: Bool) {
        let reckoned = shown.withLock { $0.engine.clock }
        return (
            reckoned.now(by: clock), clock.now(),
            reckoned.isCounted(monotonic: clock.monotonic(), bootID: clock.bootID())
        )
    }

    /// The id of the customer, and whether the customer is anonymous. The id is nil before there is
    /// a customer.
    var customer: (id: String?, isAnonymous: Bool) {
        shown.withLock { ($0.engine.device.customerID, $0.engine.device.isAnonymous) }
    }

    var snapshot: Perennial.Snapshot { current().snapshot }

    /// The decision about an entitlement.
    func decision(on entitlement: String) -> AccessDecision {
        AccessRules.decision(on: entitlement, by: current().evidence)
    }

    /// When a decision in the snapshot will change without new evidence. Nil if no decision will
    /// change.
    var changesAt: Timestamp? { shown.withLock(\.changesAt) }

    private func current() -> Shown { upToDate(shown.withLock { $0 }) }

    /// The shown values, decided again if the passing of time has changed a decision.
    private func upToDate(_ shown: Shown) -> Shown {
        let now = shown.engine.clock.now(by: clock)
        guard let changesAt = shown.changesAt, now >= changesAt else { return shown }
        var renewed = shown
        renewed.evidence = shown.engine.makeEvidence(at: now)
        (renewed.snapshot, renewed.changesAt) = shown.engine.makeSnapshot(of: renewed.evidence)
        return renewed
    }

    /// Publishes the state. Followers are notified only if an app could see a difference.
    func publish(_ engine: EngineState) -> Perennial.Snapshot {
        let now = engine.clock.now(by: clock)
        let evidence = engine.makeEvidence(at: now)
        let (snapshot, changesAt) = engine.makeSnapshot(of: evidence)
        let followers: [AsyncStream<Perennial.Snapshot>.Continuation] = shown.withLock { shown in
            let isNews = !shown.snapshot.isTheSameToAnApp(as: snapshot)
            shown.engine = engine
            shown.evidence = evidence
            shown.snapshot = snapshot
            shown.changesAt = changesAt
            return isNews ? Array(shown.followers.values) : []
        }
        for follower in followers { follower.yield(snapshot) }
        notifyObservers()
        return snapshot
    }

    /// Publishes the snapshot of a script.
    func show(_ snapshot: Perennial.Snapshot) {
        let followers: [AsyncStream<Perennial.Snapshot>.Continuation] = shown.withLock { shown in
            let isNews = !shown.snapshot.isTheSameToAnApp(as: snapshot)
            shown.snapshot = snapshot
            return isNews ? Array(shown.followers.values) : []
        }
        for follower in followers { follower.yield(snapshot) }
        notifyObservers()
    }

    /// - Parameter buffering: the number of snapshots that are buffered for a slow reader.
    func changes(
        buffering: AsyncStream<Perennial.Snapshot>.Continuation.BufferingPolicy =
            .bufferingNewest(1)
    ) -> AsyncStream<Perennial.Snapshot> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: Perennial.Snapshot.self, bufferingPolicy: buffering)
        let id: Int? = shown.withLock { shown in
            // The yield is under the lock, so that a snapshot that is published at the same time
            // comes later.
            continuation.yield(upToDate(shown).snapshot)
            guard shown.followers.count < Self.followersMax else { return nil }
            shown.followersMade += 1
            shown.followers[shown.followersMade] = continuation
            return shown.followersMade
        }
        guard let id else {
            continuation.finish()
            return stream
        }
        let shown = shown
        continuation.onTermination = { _ in shown.withLock { $0.followers[id] = nil } }
        return stream
    }

    private func notifyObservers() {
        #if canImport(Combine)
            Task { @MainActor [self] in objectWillChange.send() }
        #endif
        guard #available(iOS 17, macOS 14, tvOS 17, watchOS 10, *) else { return }
        // The new value is already set, so a view that is drawn during this call sees it.
        Task { @MainActor [self] in
            (registrar as? ObservationRegistrar)?.withMutation(of: self, keyPath: \.snapshot) {}
        }
    }
}

extension Perennial.Snapshot {
    /// Whether two snapshots are equal for an app. The times of the last answers may differ.
    func isTheSameToAnApp(as other: Self) -> Bool {
        withoutTimesOfAnswers == other.withoutTimesOfAnswers
    }

    private var withoutTimesOfAnswers: Self {
        var copy = self
        copy.serverAnswered = nil
        copy.storeAnswered = nil
        for key in copy.access.keys { copy.access[key]?.asOf = nil }
        return copy
    }
}

@available(iOS 17, macOS 14, tvOS 17, watchOS 10, *)
extension SnapshotPublisher: Observable {
    /// Registers that a view has read a value.
    func registerReading() {
        (registrar as? ObservationRegistrar)?.access(self, keyPath: \.snapshot)
    }
}

extension ReckonedClock {
    func now(by clock: any DeviceClock) -> Timestamp {
        now(
            deviceClock: clock.now(), monotonic: clock.monotonic(), bootID: clock.bootID())
    }
}
