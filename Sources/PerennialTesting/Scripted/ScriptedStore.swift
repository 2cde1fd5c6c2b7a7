public import Foundation
public import Perennial
internal import PerennialContract

/// An App Store, a server and a clock that follow a script: for unit tests and previews, on every
/// platform, without a process, a network or a file.
///
///     let store = ScriptedStore(products: [monthly])
///     let perennial = store.perennial()
///     store.answersNext(.pending)
///     try await perennial.purchase("pro.monthly")
///     store.delivers("pro.monthly")
///     #expect(perennial["pro"].isActive)
///
/// The effect of a purchase is computed from the `entitlements`, `period` and `credits` of its
/// product, with the rules that the SDK uses everywhere. Time stands still until a test calls
/// ``advance(seconds:)``. Subscriptions renew while the time moves. Some tests need a server, such
/// as a move of a purchase from one customer to another: use a ``World`` for these.
public final class ScriptedStore: Sendable {
    /// The usual start of a script: noon of 2 June 2026, in UTC.
    public static let firstNoon = Date(timeIntervalSince1970: 1_780_401_600)

    let state: Locked<State>
    private let clock: ScriptedClock

    struct State {
        var books: ScriptedBooks
        /// The snapshot that the app has received.
        var heard: Perennial.Snapshot
        var reach = Reach.up
        var outcomes: [Perennial.Purchase.Outcome] = []
        var failures: [Perennial.Failure] = []
        var restorations: [ScriptedRestoration] = []
        /// The restore whose result was `needsConsent`. Nil if there is no such restore.
        var shown: ScriptedRestoration?
        var sheets: [Perennial.ProductID] = []
        var purchasing: [Perennial.ProductID: Task<ScriptedResult, Never>] = [:]
        var waiters: [CheckedContinuation<Void, Never>] = []
        var requests: [Perennial.PurchaseRequest] = []
        var requestReader: AsyncStream<Perennial.PurchaseRequest>.Continuation?
        weak var perennial: Perennial?
    }

    enum Reach { case up, offline, silent }

    /// - Parameters:
    ///   - products: the products for sale, in the order in which they are offered. Set their
    ///     `entitlements`, and the `credits` of consumables.
    ///   - owns: the products that the Apple account has just bought.
    ///   - now: the time at which the clock begins.
    public init(
        products: [Perennial.Product], owns: [Perennial.ProductID] = [], now: Date = firstNoon
    ) {
        clock = ScriptedClock(now)
        var books = ScriptedBooks(products: products, now: Timestamp(now))
        for id in owns { books.deliver(id) }
        state = Locked(State(books: books, heard: books.snapshot()))
    }

    deinit {
        let (waiters, reader) = state.withLock { ($0.waiters, $0.requestReader) }
        for waiter in waiters { waiter.resume() }
        reader?.finish()
    }

    /// The app's `Perennial` for this store. There is only one such object at a time: while it is
    /// alive, a second call returns the same object.
    public func perennial() -> Perennial {
        state.withLock { state in
            if let perennial = state.perennial { return perennial }
            let made = Perennial(playing: self, showing: state.heard, clock: clock)
            state.perennial = made
            return made
        }
    }

    /// Changes the simulated state or the script, and shows the app the part of the change that it
    /// can learn of.
    @discardableResult
    func change<Value>(_ body: (inout State) throws -> Value) rethrows -> Value {
        try state.withLock { state in
            let value = try body(&state)
            if state.reach == .up { state.heard = state.books.snapshot() }
            clock.set(state.books.now)
            // The snapshot is shown under the lock, so that no older snapshot follows a newer one.
            // `show` runs no code of this store.
            state.perennial?.show(state.heard)
            return value
        }
    }

    // MARK: - The sheets of the app

    /// The products for which a payment sheet was shown, in order.
    public var sheets: [Perennial.ProductID] { state.withLock(\.sheets) }

    // MARK: - Outcomes of the next calls

    /// Sets the outcome of the next purchase. Several calls apply to the next purchases in order.
    /// Without a call the outcome is `bought`.
    public func answersNext(_ outcome: Perennial.Purchase.Outcome) {
        change { $0.outcomes.append(outcome) }
    }

    /// Sets a failure for the next call that needs the store or the server: a purchase, a restore,
    /// a log-in, a debit, a refresh, or a request for products. Several failures apply in order.
    public func fails(_ failure: Perennial.Failure) { change { $0.failures.append(failure) } }

    /// Sets the outcome of the next restore. Without a call, the outcome is `nothingNew` if the
    /// customer has purchases, `refused` if the purchases belong to another customer, and otherwise
    /// `nothingFound`.
    ///
    /// - Parameters:
    ///   - products: the products to restore. With `needsConsent` they are shown first, and are
    ///     restored when the app calls `restore` with the preview.
    ///   - hint: the hint about the products' owner that `needsConsent` shows.
    public func restoresNext(
        _ outcome: Perennial.Restoration.Outcome, _ products: [Perennial.ProductID] = [],
        from hint: String? = nil
    ) {
        change {
            $0.restorations.append(
                ScriptedRestoration(outcome: outcome, products: products, ownerHint: hint))
        }
    }

    // MARK: - Outages

    /// Sets whether the store and the server are silent. While they are silent, calls wait, and the
    /// app knows nothing before the first answer.
    public func isSilent(_ silent: Bool) { reach(silent ? .silent : .up) }

    /// Sets whether the device is offline. While it is offline, calls fail at once, and changes
    /// made elsewhere do not arrive. The app knows nothing before the first answer.
    public func isOffline(_ offline: Bool) { reach(offline ? .offline : .up) }

    private func reach(_ reach: Reach) {
        let waiters = change { state in
            if reach != .up, state.perennial == nil {
                state.heard = .unknown(state.books.customer)
            }
            state.reach = reach
            guard reach != .silent else { return [CheckedContinuation<Void, Never>]() }
            defer { state.waiters = [] }
            return state.waiters
        }
        for waiter in waiters { waiter.resume() }
    }
}
