internal import AccessRules
internal import Foundation
internal import Observation
internal import PerennialContract

#if canImport(Combine)
    internal import Combine
#endif

/// What is known now, for reading on any thread, and those who follow it.
///
/// Reading judges anew when time has changed the answer since it was published: so it is right also
/// after the app was suspended, when no timer has run.
final class Picture: Sendable {
    private struct State: Sendable {
        var memory: Memory
        var evidence: Evidence
        var snapshot: Perennial.Snapshot
        var changesAt: Timestamp?
        var followers: [Int: AsyncStream<Perennial.Snapshot>.Continuation] = [:]
        var followersMade = 0
    }

    /// The most streams that can be followed at a time. One more ends at once.
    static let followersMax = 1000

    private let state: Locked<State>
    private let clock: any DeviceClock
    /// An `ObservationRegistrar`, which exists from iOS 17 on.
    private let registrar: any Sendable
    #if canImport(Combine)
        // Unsafe: a publisher locks itself, and Combine does not say that it is sendable.
        nonisolated(unsafe) let objectWillChange = ObservableObjectPublisher()
    #endif

    init(_ memory: Memory, clock: any DeviceClock) {
        self.clock = clock
        let evidence = memory.makeEvidence(
            at: memory.clock.now(by: clock))
        let (snapshot, changesAt) = memory.makeSnapshot(of: evidence)
        state = Locked(
            State(
                memory: memory, evidence: evidence, snapshot: snapshot, changesAt: changesAt))
        if #available(iOS 17, macOS 14, tvOS 17, watchOS 10, *) {
            registrar = ObservationRegistrar()
        } else {
            registrar = 0
        }
    }

    deinit {
        let followers = state.withLock { $0.followers.values.map(\.self) }
        for follower in followers { follower.finish() }
    }

    /// What a script shows, until ``show(_:)``.
    convenience init(scripted snapshot: Perennial.Snapshot, clock: any DeviceClock) {
        let memory = Memory(
            state: DeviceState(keys: KeyRing()), clock: ReckonedClock(), silentHold: 0)
        self.init(memory, clock: clock)
        state.withLock {
            $0.snapshot = snapshot
            $0.changesAt = nil
        }
    }

    /// The reckoned time.
    var now: Timestamp { state.withLock { $0.memory.clock }.now(by: clock) }

    /// The reckoned time, what the device's clock shows, and whether that has a part in it.
    var clockReading: (now: Timestamp, shown: Timestamp, isCounted: Bool) {
        let reckoned = state.withLock { $0.memory.clock }
        return (
            reckoned.now(by: clock), clock.now(),
            reckoned.isCounted(monotonic: clock.monotonic(), bootID: clock.bootID())
        )
    }

    var snapshot: Perennial.Snapshot { current().snapshot }

    /// What the answer about an entitlement rests on.
    func judge(_ entitlement: String) -> Judgement {
        AccessRules.judge(entitlement, by: current().evidence)
    }

    /// When time alone will change the answer.
    var changesAt: Timestamp? { state.withLock(\.changesAt) }

    private func current() -> State { upToDate(state.withLock { $0 }) }

    /// Judged anew, if time has changed the answer since it was published.
    private func upToDate(_ state: State) -> State {
        let now = state.memory.clock.now(by: clock)
        guard let changesAt = state.changesAt, now >= changesAt else { return state }
        var renewed = state
        renewed.evidence = state.memory.makeEvidence(at: now)
        (renewed.snapshot, renewed.changesAt) = state.memory.makeSnapshot(of: renewed.evidence)
        return renewed
    }

    /// Shows what is known now. Followers hear of it only if an app could see a difference.
    func publish(_ memory: Memory) -> Perennial.Snapshot {
        let now = memory.clock.now(by: clock)
        let evidence = memory.makeEvidence(at: now)
        let (snapshot, changesAt) = memory.makeSnapshot(of: evidence)
        let followers: [AsyncStream<Perennial.Snapshot>.Continuation] = state.withLock { state in
            let isNews = !state.snapshot.isTheSameToAnApp(as: snapshot)
            state.memory = memory
            state.evidence = evidence
            state.snapshot = snapshot
            state.changesAt = changesAt
            return isNews ? Array(state.followers.values) : []
        }
        for follower in followers { follower.yield(snapshot) }
        notifyObservers()
        return snapshot
    }

    /// Shows what a script says.
    func show(_ snapshot: Perennial.Snapshot) {
        let followers: [AsyncStream<Perennial.Snapshot>.Continuation] = state.withLock { state in
            let isNews = !state.snapshot.isTheSameToAnApp(as: snapshot)
            state.snapshot = snapshot
            return isNews ? Array(state.followers.values) : []
        }
        for follower in followers { follower.yield(snapshot) }
        notifyObservers()
    }

    /// - Parameter buffering: how much a late reader gets to see.
    func changes(
        buffering: AsyncStream<Perennial.Snapshot>.Continuation.BufferingPolicy =
            .bufferingNewest(1)
    ) -> AsyncStream<Perennial.Snapshot> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: Perennial.Snapshot.self, bufferingPolicy: buffering)
        let id: Int? = state.withLock { state in
            // Under the lock, so that no snapshot that is published meanwhile comes before.
            continuation.yield(upToDate(state).snapshot)
            guard state.followers.count < Self.followersMax else { return nil }
            state.followersMade += 1
            state.followers[state.followersMade] = continuation
            return state.followersMade
        }
        guard let id else {
            continuation.finish()
            return stream
        }
        let state = state
        continuation.onTermination = { _ in state.withLock { $0.followers[id] = nil } }
        return stream
    }

    private func notifyObservers() {
        #if canImport(Combine)
            Task { @MainActor [self] in objectWillChange.send() }
        #endif
        guard #available(iOS 17, macOS 14, tvOS 17, watchOS 10, *) else { return }
        // The new value is in place already: a view that draws during this sees it.
        Task { @MainActor [self] in
            (registrar as? ObservationRegistrar)?.withMutation(of: self, keyPath: \.snapshot) {}
        }
    }
}

extension Perennial.Snapshot {
    /// Whether an app could not tell the two apart, but for when somebody last answered.
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
extension Picture: Observable {
    /// Notes that a view reads.
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
