import AppStoreClient
import AppStoreFormats
import Ledger
import Storage
import Synchronization

extension Engine {
    /// Of these a purchase that somebody waits for is asked about once.
    fileprivate static let wishPause = Duration.seconds(60)
    /// Where somebody else is asking, it is looked so often, at such a pause, whether that has
    /// ended: for five seconds.
    private static let looksMax = 50
    private static let lookPause = Duration.milliseconds(100)

    /// Asks the App Store about purchases that are due, and keeps what it says. Returns how many
    /// were asked about, whatever came of it; 0 where nothing is due that may be asked now.
    ///
    /// Harmless to repeat, and for several servers at once: each purchase is one server's for a
    /// while. Where the store does not answer everything stays as it is.
    package func reconcileDue(limit: Int) async throws(EngineFailure) -> Int {
        let wished = try await reconcileWishes()
        let taken = ContinuousClock.now
        let leases = try await leaseChecks(limit: limit - wished)
        try await carryOut(leases, taken: taken)
        return wished + leases.count
    }

    /// However much is due of some apps, the others have their share; what they leave goes to
    /// whoever has more.
    private func leaseChecks(limit: Int) async throws(EngineFailure) -> [CheckLease] {
        let apps = askingTurn.turned(askableApps)
        guard limit > 0, !apps.isEmpty else { return [] }
        let now = now()
        let worker = asking.worker
        return try await transaction { tx in
            var leases: [CheckLease] = []
            var waiting = apps
            for share in [max(1, limit / apps.count), limit] {
                for app in waiting where leases.count < limit {
                    let most = min(share, limit - leases.count)
                    let more = try tx.leaseChecks(
                        of: app, dueBy: now, limit: most, for: worker)
                    leases += more
                    if more.count < most { waiting.removeAll { $0 == app } }
                }
            }
            return leases
        }
    }

    /// Looks how far behind the asking is, for ``askingStates``.
    package func lookAtBacklog() async throws(EngineFailure) {
        let now = now()
        let askable = askable
        let seen = try await reading { tx in
            try askable.map { app, environment in
                let backlog = try tx.backlog(of: app, in: environment, at: now)
                let standing = try tx.standing(of: app, in: environment)
                return AskingState(
                    app: app, environment: environment, due: backlog.count,
                    oldestDueAge: backlog.oldestDueAt.map { now - $0 } ?? .zero,
                    answeredAt: standing.answeredAt, failures: standing.failures)
            }
        }
        states.put(seen)
    }

    /// As of the last ``lookAtBacklog()``.
    package var askingStates: [AskingState] { states.all }

    /// By how much our clock is ahead of the App Store's at least; see ``Asking/clockAhead``.
    package var clockAhead: Duration? { asking.clockAhead() }

    /// Asks about everything that a customer has, due or not. Returns what came of each purchase.
    package func reconcile(
        _ id: CustomerID, app appID: AppID, environment: Ledger.Environment
    ) async throws(EngineFailure) -> [(purchase: PurchaseID, outcome: CheckOutcome)] {
        let state = try await customer(id, app: appID, environment: environment)
        var outcomes: [(purchase: PurchaseID, outcome: CheckOutcome)] = []
        for purchase in state.purchases.map(\.timeline.purchase) {
            outcomes.append((purchase, try await refresh(purchase, app: appID)))
        }
        return outcomes
    }

    /// Asks about one purchase, due or not.
    package func refresh(
        _ purchase: PurchaseID, app: AppID
    ) async throws(EngineFailure) -> CheckOutcome {
        _ = try self.app(app)
        let worker = asking.worker
        let lease = try await transaction { tx in
            try tx.leaseCheck(of: purchase, in: app, for: worker)
        }
        guard let lease else { return .anotherServersOrUnknown }
        return try await carryOut(lease)
    }

    /// Asks about one purchase, due or not; where somebody else is asking already, waits for that
    /// to end, as long as whoever wants an answer can be kept. What came of it is in the purchase's
    /// history.
    func ask(about purchase: PurchaseID, in app: AppID) async throws(EngineFailure) {
        let before = try await checkHistory(of: purchase, in: app)
        guard try await refresh(purchase, app: app) == .anotherServersOrUnknown else { return }
        for _ in 1...Self.looksMax {
            do { try await Task.sleep(for: Self.lookPause) } catch { return }
            guard try await checkHistory(of: purchase, in: app) == before else { return }
        }
    }

    /// The same of purchases of which somebody is to be told that we do not know; but those that
    /// were asked about a moment ago are left alone.
    func ask(aboutUnconfirmed purchases: [PurchaseID], in app: AppID) async throws(EngineFailure) {
        for purchase in purchases {
            let now = now()
            let wish = Wishes.Wish(app: app, purchase: purchase)
            let isDue = try await reading { tx in try tx.isDue(wish, at: now) }
            if isDue { try await ask(about: purchase, in: app) }
        }
    }

    private func checkHistory(
        of purchase: PurchaseID, in app: AppID
    ) async throws(EngineFailure) -> CheckHistory? {
        try await reading { tx in try tx.checkHistory(of: purchase, in: app)?.history }
    }

    /// Apps whose store can be asked, in both environments, production first.
    var askable: [(AppID, Ledger.Environment)] {
        askableApps.flatMap { app in Ledger.Environment.allCases.map { (app, $0) } }
    }

    private var askableApps: [AppID] { apps.keys.sorted().filter { canAsk($0) } }

    /// Whether the configuration has what the store wants: a key, or a shared secret.
    func canAsk(_ app: AppID) -> Bool {
        asking.appStore(app) != nil || asking.verification(app) != nil
    }

    /// Somebody was told that we do not know: ask soon. Never waits.
    func wish(for state: CustomerState, in app: AppID) {
        for purchase in state.purchases where purchase.access?.state == .unconfirmed {
            wishes.add(.init(app: app, purchase: purchase.timeline.purchase))
        }
    }

    private func reconcileWishes() async throws(EngineFailure) -> Int {
        let now = now()
        let worker = asking.worker
        let wanted = wishes.take().filter { canAsk($0.app) }
        guard !wanted.isEmpty else { return 0 }
        let taken = ContinuousClock.now
        let leases = try await transaction { tx in
            try wanted.compactMap { wish -> CheckLease? in
                guard try tx.isDue(wish, at: now) else { return nil }
                return try tx.leaseCheck(of: wish.purchase, in: wish.app, for: worker)
            }
        }
        try await carryOut(leases, taken: taken)
        return leases.count
    }

    /// Asks about leases, some at a time. Where this process stood still meanwhile, so that the
    /// lease may have run out, what was not begun is left to whoever has it now.
    ///
    /// - Parameter taken: a moment before the lease began, by this machine's clock.
    private func carryOut(
        _ leases: [CheckLease], taken: ContinuousClock.Instant
    ) async throws(EngineFailure) {
        let end = taken + asking.worker.lease
        do {
            try await withThrowingTaskGroup(of: Void.self) { tasks in
                for (index, lease) in leases.enumerated() {
                    if index >= asking.questionsAtOnce { try await tasks.next() }
                    guard ContinuousClock.now < end else { break }
                    tasks.addTask { _ = try await carryOut(lease) }
                }
                try await tasks.waitForAll()
            }
        } catch { throw EngineFailure(error) }
    }
}

extension StoreTransaction {
    /// Whether to ask because somebody waits: not where that was done a moment ago, or the store is
    /// left alone.
    fileprivate func isDue(_ wish: Wishes.Wish, at now: Instant) throws(StorageFailure) -> Bool {
        guard let known = try checkHistory(of: wish.purchase, in: wish.app)?.history else {
            return false
        }
        let standing = try standing(of: wish.app, in: wish.purchase.environment)
        guard standing.pausedUntil <= now else { return false }
        return [known.askedAt, known.failedAt].allSatisfy { moment in
            moment.map { $0 + Engine.wishPause <= now } ?? true
        }
    }
}

/// Whose turn it is: each batch begins with another app, so that the last ones come, too, where
/// there are more than a batch holds.
final class AskingTurn: Sendable {
    private let batches = Mutex(0)

    func turned(_ apps: [AppID]) -> [AppID] {
        guard !apps.isEmpty else { return [] }
        let first = batches.withLock { batches in
            batches = (batches + 1) % apps.count
            return batches
        }
        return Array(apps[first...] + apps[..<first])
    }
}
