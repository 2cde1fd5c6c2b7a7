import Foundation
import PerennialTesting

@testable import Perennial

/// A phone of a life, and what its app has shown and heard.
final class LifePhone: Sendable {
    let device: Device
    private let state = Locked(State())

    private struct State {
        var perennial: Perennial?
        var isLaunched = false
        var isOnline = true
        var pictures: [Perennial.Snapshot] = []
        var watching: Task<Void, Never>?
        var emptyReads = 0
        /// When each right opened that is open, by the world's clock.
        var opened: [String: Date] = [:]
        var knowledge = Knowledge()
    }

    /// What the app could know at the last look.
    private struct Knowledge {
        /// When the server has last said something about the customer. Nil: never.
        var word: Date?
        /// Rights that a transaction gives which the app has read.
        var read: Set<String> = []
        /// Rights that the server gives the app's customer.
        var served: Set<String> = []
    }

    init(_ device: Device) { self.device = device }

    /// The app, if it runs.
    var perennial: Perennial? { state.withLock { $0.perennial } }

    /// Whether the device reaches the App Store.
    var isOnline: Bool {
        get { state.withLock { $0.isOnline } }
        set { state.withLock { $0.isOnline = newValue } }
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
        let changes = app.picture.changes(buffering: .unbounded)
        state.withLock { state in
            state.isLaunched = true
            state.perennial = app
            state.watching = Task { [self] in
                for await snapshot in changes {
                    self.state.withLock { $0.pictures.append(snapshot) }
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
    }

    /// A new installation has heard nothing.
    func forget() { state.withLock { $0.knowledge = Knowledge() } }

    /// How many of the store's lists are empty after each launch.
    func readsAreEmptyAtLaunch(_ count: Int) async throws {
        state.withLock { $0.emptyReads = count }
        try await device.readsAreEmptyAtLaunch(count)
    }

    /// What the app has shown since the last time. The first line after a launch is among it.
    func shown() -> [Perennial.Snapshot] {
        state.withLock { state in
            defer { state.pictures = [] }
            return state.pictures
        }
    }

    /// Whether nobody could have told the app by the last look that a right is open: the server has
    /// no purchase of its customer's, and the store lists none; or the server had said so before it
    /// opened, and neither could be heard since.
    func isExcused(_ right: String) -> Bool {
        state.withLock { state in
            let isListed = state.isOnline && state.emptyReads == 0
            let known = state.knowledge
            if known.read.contains(right) { return false }
            if !known.served.contains(right), !isListed { return true }
            guard let word = known.word, let opened = state.opened[right] else { return false }
            return word <= opened
        }
    }

    /// Notes what the app could know by now.
    ///
    /// - Parameter open: the rights that are open by the books, at this moment.
    func look(_ open: Set<String>, at now: Date, in world: World) async throws {
        state.withLock { state in
            for right in Life.rights {
                if open.contains(right) {
                    state.opened[right] = state.opened[right] ?? now
                } else {
                    state.opened[right] = nil
                }
            }
        }
        guard let app = perennial, let memory = await app.engine?.memory else { return }
        let id = app.snapshot.customer.id
        let server = id.isEmpty ? nil : try await world.serverTruth(of: id)
        let products = memory.state.words.transactions.values.map(\.productID)
        state.withLock { state in
            let last = state.knowledge.word
            state.knowledge = Knowledge(
                word: memory.serverWord?.asOf.date ?? last,
                read: Set(
                    Life.rights.filter { right in
                        products.contains { $0 == right || $0.hasPrefix(right + ".") }
                    }),
                served: Set(Life.rights.filter { server?.isOpen($0) == true }))
        }
    }
}
