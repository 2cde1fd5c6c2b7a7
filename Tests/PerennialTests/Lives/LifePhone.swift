import Foundation
import PerennialTesting

@testable import Perennial

/// A phone in a random life, and what its app has shown and received.
final class LifePhone: Sendable {
    let device: Device
    private let state = Locked(State())

    private struct State {
        var perennial: Perennial?
        var isLaunched = false
        var isOnline = true
        var snapshots: [ShownSnapshot] = []
        /// The last snapshot, even if it was already checked.
        var last: Perennial.Snapshot?
        var watching: Task<Void, Never>?
        var emptyReads = 0
        /// Whether the store has listed everything since the last launch.
        var isListed = false
        /// The times at which each open right opened, by the world's clock.
        var opened: [String: Date] = [:]
        var knowledge = Knowledge()
    }

    /// One snapshot that the app has shown, and whether the store had listed everything by then.
    struct ShownSnapshot: Sendable {
        var snapshot: Perennial.Snapshot
        /// The value of `isListed` in the state when the snapshot was shown.
        var isListed: Bool
    }

    /// What the app could know when the test last looked.
    struct Knowledge: Sendable {
        /// The time when the server last answered about the customer. Nil if it never answered.
        var answeredAt: Date?
        /// The rights of the transactions that the app has read.
        var read: Set<String> = []
        /// The rights that the server gives the app's customer.
        var served: Set<String> = []
    }

    init(_ device: Device) { self.device = device }

    /// The app. Nil if it does not run.
    var perennial: Perennial? { state.withLock { $0.perennial } }

    /// Whether the device reaches the App Store.
    var isOnline: Bool {
        get { state.withLock { $0.isOnline } }
        set {
            state.withLock { state in
                state.isOnline = newValue
                // The moment at which a running app reads the store is unknown.
                state.isListed = state.isListed && newValue
            }
        }
    }

    /// Ends the app if it runs, and launches it.
    func launch(_ change: @escaping @Sendable (inout Perennial.Configuration) -> Void) async throws
    {
        await end()
        let isFirst = !state.withLock { $0.isLaunched }
        let app: Perennial
        if isFirst {
            app = device.perennial(change)
        } else {
            app = try await device.launch(change)
        }
        let changes = app.publisher.changes(buffering: .unbounded)
        state.withLock { state in
            state.isLaunched = true
            state.perennial = app
            state.last = nil
            state.isListed = state.isOnline && state.emptyReads == 0
            state.watching = Task { [self] in
                for await snapshot in changes {
                    self.state.withLock { state in
                        state.last = snapshot
                        state.snapshots.append(
                            ShownSnapshot(snapshot: snapshot, isListed: state.isListed))
                    }
                }
            }
        }
    }

    func end() async {
        let (app, watching) = state.withLock { state in
            defer { (state.perennial, state.watching) = (nil, nil) }
            return (state.perennial, state.watching)
        }
        guard let app else { return }
        await device.stop(app)
        watching?.cancel()
        await watching?.value
    }

    /// Forgets what the app knew, because a new installation knows nothing.
    func forget() { state.withLock { $0.knowledge = Knowledge() } }

    /// The number of the store's lists that are empty after each launch.
    func readsAreEmptyAtLaunch(_ count: Int) async throws {
        state.withLock { state in
            state.emptyReads = count
            state.isListed = state.isListed && count == 0
        }
        try await device.readsAreEmptyAtLaunch(count)
    }

    /// What the app has shown since the last call, including the first line after a launch.
    func shown() async throws -> [ShownSnapshot] {
        if let app = perennial {
            try await eventually("what \(device.id) shows has arrived") {
                let now = app.snapshot
                return state.withLock { $0.last?.isTheSameToAnApp(as: now) == true }
            }
        }
        return state.withLock { state in
            defer { state.snapshots = [] }
            return state.snapshots
        }
    }

    /// Whether the app could not know that a right is open. Two things must be true. Since the
    /// right opened, the app has read neither the purchase nor the store's complete lists. And at
    /// the last look, the server had not answered since then, or did not give the right to the
    /// app's customer.
    func isExcused(_ right: String, in shown: ShownSnapshot) -> Bool {
        state.withLock { state in
            guard let opened = state.opened[right] else { return true }
            let known = state.knowledge
            let isRead = shown.snapshot.storeAnswered.map { $0 > opened } == true
            let isHeard = known.answeredAt.map { $0 > opened } == true
            return !known.read.contains(right) && !(shown.isListed && isRead)
                && !(known.served.contains(right) && isHeard)
        }
    }

    /// What the app knows now. Nil if the app does not run.
    func knowledge(in world: World) async throws -> Knowledge? {
        guard let app = perennial, let state = await app.engine?.state else { return nil }
        let id = app.snapshot.customer.id
        let server = id.isEmpty ? nil : try await world.serverTruth(of: id)
        let products = state.device.storeEvidence.transactions.values.map(\.productID)
        return Knowledge(
            answeredAt: state.serverEvidence?.asOf.date,
            read: Set(
                Life.rights.filter { right in
                    products.contains { $0 == right || $0.hasPrefix(right + ".") }
                }),
            served: Set(Life.rights.filter { server?.isOpen($0) == true }))
    }

    /// Records what the app knows, and which rights are open in the books now.
    func note(_ knowledge: Knowledge?, open: Set<String>, at now: Date) {
        state.withLock { state in
            for right in Life.rights {
                state.opened[right] = open.contains(right) ? state.opened[right] ?? now : nil
            }
            guard var knowledge else { return }
            knowledge.answeredAt = knowledge.answeredAt ?? state.knowledge.answeredAt
            state.knowledge = knowledge
        }
    }
}
