public import Foundation
public import Perennial
internal import PerennialContract

/// An App Store, a server and a clock that play a script: for unit tests and previews, on every
/// platform, without a process, a network or a file.
///
///     let store = ScriptedStore(products: [monthly])
///     let perennial = store.perennial()
///     store.answersNext(.pending)
///     try await perennial.purchase("pro.monthly")
///     store.delivers("pro.monthly")
///     #expect(perennial["pro"].isActive)
///
/// What a purchase opens follows from the `entitlements`, `period` and `credits` of its product, by
/// the rules that the SDK uses everywhere. The time stands still until ``advance(seconds:)``;
/// subscriptions renew while it moves. What only a server can do, such as moving a purchase from
/// one customer to another, is played by a ``World``.
public final class ScriptedStore: Sendable {
    /// Noon of the 2nd of June 2026, in UTC.
    public static let firstNoon = Date(timeIntervalSince1970: 1_780_401_600)

    let state: Locked<State>
    private let clock: ScriptedClock

    struct State {
        var books: ScriptedBooks
        /// What the app has heard.
        var heard: Perennial.Snapshot
        var reach = Reach.up
        var outcomes: [Perennial.Purchase.Outcome] = []
        var failures: [Perennial.Failure] = []
        var restorations: [ScriptedRestoration] = []
        /// What `needsConsent` was said about.
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
    ///   - products: what is for sale, in the order in which it is offered. Name their
    ///     `entitlements`, and the `credits` of consumables.
    ///   - owns: what the Apple account has bought already, just now.
    ///   - now: the time at which the clock stands.
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

    /// The app's `Perennial` over this store. There is one at a time: a second call returns the
    /// same one, as long as somebody has it.
    public func perennial() -> Perennial {
        state.withLock { state in
            if let perennial = state.perennial { return perennial }
            let made = Perennial(playing: self, showing: state.heard, clock: clock)
            state.perennial = made
            return made
        }
    }

    /// Changes the books or the script, and shows the app what it hears of it.
    @discardableResult
    func change<Value>(_ body: (inout State) throws -> Value) rethrows -> Value {
        try state.withLock { state in
            let value = try body(&state)
            if state.reach == .up { state.heard = state.books.snapshot() }
            clock.set(state.books.now)
            // Under the lock, so that no older snapshot follows a newer one. It calls nothing here.
            state.perennial?.show(state.heard)
            return value
        }
    }

    // MARK: - What the app has done

    /// The products for which a payment sheet was shown, in order.
    public var sheets: [Perennial.ProductID] { state.withLock(\.sheets) }

    // MARK: - What the customer and the store do next

    /// What becomes of the next purchase. Several calls are used up in order; without one it is
    /// `bought`.
    public func answersNext(_ outcome: Perennial.Purchase.Outcome) {
        change { $0.outcomes.append(outcome) }
    }

    /// The next call that asks the store or the server fails so: a purchase, a restore, a log-in,
    /// a spending, a refresh, a question for products. Several calls are used up in order.
    public func fails(_ failure: Perennial.Failure) { change { $0.failures.append(failure) } }

    /// What becomes of the next restore. Without a call it is `nothingNew` if the customer has
    /// something, `refused` if it is another customer's, else `nothingFound`.
    ///
    /// - Parameters:
    ///   - products: what it brings. With `needsConsent` they are shown first, and arrive when the
    ///     app restores what was shown.
    ///   - hint: whose they are, as `needsConsent` shows it.
    public func restoresNext(
        _ outcome: Perennial.Restoration.Outcome, _ products: [Perennial.ProductID] = [],
        from hint: String? = nil
    ) {
        change {
            $0.restorations.append(
                ScriptedRestoration(outcome: outcome, products: products, ownerHint: hint))
        }
    }

    // MARK: - How they can be reached

    /// While true, neither store nor server answers: calls wait, and before the first answer
    /// nothing is known.
    public func isSilent(_ silent: Bool) { reach(silent ? .silent : .up) }

    /// While true, calls fail at once, and what happens elsewhere is not heard of. Before the first
    /// answer nothing is known.
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
