import AppStoreClient
import AppStoreFormats
import Ledger
import Storage
import Synchronization

/// Queries the App Store about due purchases, and records its responses.
package struct ReconciliationService: Sendable {
    let context: Context
    let verification: VerificationService
    let seats: SeatService
    let urgentChecks: UrgentChecks
    let stateCache: ReconciliationStateCache
    let roundRobin: RoundRobin

    /// - Parameter former: the service of the previous configuration, whose caches are reused.
    init(
        context: Context, verification: VerificationService, seats: SeatService,
        former: ReconciliationService?
    ) {
        self.context = context
        self.verification = verification
        self.seats = seats
        urgentChecks = former?.urgentChecks ?? UrgentChecks()
        stateCache = former?.stateCache ?? ReconciliationStateCache()
        roundRobin = former?.roundRobin ?? RoundRobin()
    }

    /// The minimum time between two urgent checks of one purchase.
    static let urgentCheckInterval = Duration.seconds(60)
    /// The maximum number of polls for the result of another server's check. With the interval
    /// below, the polls take five seconds in total.
    private static let pollsMax = 50
    private static let pollInterval = Duration.milliseconds(100)

    /// Queries the App Store about purchases that are due and records the responses. Returns how
    /// many purchases were checked, whatever the result; 0 if no due purchase may be checked now.
    ///
    /// Idempotent and safe for several servers at once: each purchase is leased to one server. If
    /// the App Store does not respond, nothing changes.
    package func reconcileDue(limit: Int) async throws(EngineFailure) -> Int {
        let wished = try await reconcileUrgent()
        let taken = ContinuousClock.now
        let leases = try await leaseChecks(limit: limit - wished)
        try await runChecks(leases, taken: taken)
        return wished + leases.count
    }

    /// Leases checks so that every app gets its share, even if many checks are due for other apps.
    /// The unused share of an app goes to the apps with more due checks.
    private func leaseChecks(limit: Int) async throws(EngineFailure) -> [CheckLease] {
        let apps = roundRobin.rotated(queryableApps)
        guard limit > 0, !apps.isEmpty else { return [] }
        let now = context.now()
        let worker = context.reconciliationSettings.worker
        return try await context.transaction { tx in
            var leases: [CheckLease] = []
            var waiting = apps
            for share in [max(1, limit / apps.count), limit] {
                for app in waiting where leases.count < limit {
                    let most = min(share, limit - leases.count)
                    let more = try tx.checks.lease(
                        of: app, dueBy: now, limit: most, for: worker)
                    leases += more
                    if more.count < most { waiting.removeAll { $0 == app } }
                }
            }
            return leases
        }
    }

    /// Refreshes ``states``: how late reconciliation is.
    package func refreshStates() async throws(EngineFailure) {
        let now = context.now()
        let askable = queryableStores
        let reported = seats.reportedStores.map { ($0.app.id, $0.environment) }
        let seen = try await context.read { tx in
            try askable.map { app, environment in
                let backlog = try tx.appStore.backlog(of: app, in: environment, at: now)
                let seats =
                    reported.contains { $0 == (app, environment) }
                    ? try tx.seatGroups.backlog(of: app, in: environment, at: now)
                    : QueueBacklog(count: 0, oldest: nil)
                let standing = try tx.appStore.health(of: app, in: environment)
                return ReconciliationState(
                    app: app, environment: environment, due: backlog.count,
                    oldestDueAge: backlog.oldest.map { now - $0 } ?? .zero,
                    respondedAt: standing.respondedAt, failures: standing.failures,
                    seatReports: seats.count,
                    oldestSeatReportAge: seats.oldest.map { now - $0 } ?? .zero)
            }
        }
        stateCache.update(seen)
    }

    /// The states of all apps, as of the last ``refreshStates()``.
    package var states: [ReconciliationState] { stateCache.all }

    /// The minimum time by which this server's clock is ahead of the App Store's: see
    /// ``ReconciliationSettings/clockAhead``.
    package var clockAhead: Duration? { context.reconciliationSettings.clockAhead() }
}

extension CustomerService {
    /// Checks all purchases of a customer, even if they are not due, except the purchase of the app
    /// itself. Returns the outcome for each purchase.
    package func reconcile(
        _ id: CustomerID, app appID: AppID, environment: Ledger.Environment
    ) async throws(EngineFailure) -> [(purchase: PurchaseID, outcome: CheckOutcome)] {
        let state = try await find(id, app: appID, environment: environment)
        var outcomes: [(purchase: PurchaseID, outcome: CheckOutcome)] = []
        for purchase in state.purchases.map(\.timeline.payingPurchase)
        where purchase.appTransaction == nil {
            outcomes.append((purchase, try await reconciliation.refresh(purchase, app: appID)))
        }
        return outcomes
    }
}

extension ReconciliationService {
    /// Checks one purchase, even if it is not due.
    package func refresh(
        _ purchase: PurchaseID, app: AppID
    ) async throws(EngineFailure) -> CheckOutcome {
        _ = try self.context.app(app)
        let worker = context.reconciliationSettings.worker
        let lease = try await context.transaction { tx in
            try tx.checks.lease(of: purchase, in: app, for: worker)
        }
        guard let lease else { return .leasedElsewhereOrUnknown }
        return try await runCheck(lease)
    }

    /// Checks one purchase, even if it is not due. If another server is already checking the
    /// purchase, waits for that check, but no longer than a client can wait. The result is in the
    /// purchase's check history.
    func reconcileAndWait(about purchase: PurchaseID, in app: AppID) async throws(EngineFailure) {
        let before = try await checkHistory(of: purchase, in: app)
        guard try await refresh(purchase, app: app) == .leasedElsewhereOrUnknown else { return }
        for _ in 1...Self.pollsMax {
            do { try await Task.sleep(for: Self.pollInterval) } catch { return }
            guard try await checkHistory(of: purchase, in: app) == before else { return }
        }
    }

    /// Checks one purchase for a waiting client, unless it was checked a moment ago or queries to
    /// the App Store are paused.
    ///
    /// - Returns: whether the App Store may soon respond, although it has not done so within the
    ///   last minute. False after a definite failure, such as the response that a transaction does
    ///   not exist, and in a long outage.
    package func reconcileIfDue(
        about purchase: PurchaseID, in app: AppID
    ) async throws(EngineFailure) -> Bool {
        let now = context.now()
        let wish = UrgentChecks.Entry(app: app, purchase: purchase)
        let isDue = try await context.read { tx in
            try ReconciliationDecisions(tx).isDue(wish, at: now)
        }
        if isDue { try await reconcileAndWait(about: purchase, in: app) }
        return try await context.read { tx in
            try ReconciliationDecisions(tx).mayRespondSoon(about: wish, at: now)
        }
    }

    /// Checks unconfirmed purchases before a client learns that their state is unknown. Skips
    /// purchases that were checked a moment ago.
    func reconcileAndWait(aboutUnconfirmed purchases: [PurchaseID], in app: AppID)
        async throws(EngineFailure)
    {
        for purchase in purchases {
            let now = context.now()
            let wish = UrgentChecks.Entry(app: app, purchase: purchase)
            let isDue = try await context.read { tx in
                try ReconciliationDecisions(tx).isDue(wish, at: now)
            }
            if isDue { try await reconcileAndWait(about: purchase, in: app) }
        }
    }

    private func checkHistory(
        of purchase: PurchaseID, in app: AppID
    ) async throws(EngineFailure) -> CheckHistory? {
        try await context.read { tx in try tx.checks.history(of: purchase, in: app)?.history }
    }

    /// The apps about which the App Store can be queried, each in both environments, production
    /// first.
    var queryableStores: [(AppID, Ledger.Environment)] {
        queryableApps.flatMap { app in Ledger.Environment.allCases.map { (app, $0) } }
    }

    private var queryableApps: [AppID] {
        context.apps.keys.sorted().filter { canQueryAppStore($0) }
    }

    /// Whether the configuration has the credentials that the App Store needs: a key or a shared
    /// secret.
    package func canQueryAppStore(_ app: AppID) -> Bool {
        context.reconciliationSettings.appStore(app) != nil
            || context.reconciliationSettings.receiptVerification(app) != nil
    }

    /// Requests an urgent check of each purchase that was reported as unconfirmed. Does not wait
    /// for these checks.
    func requestUrgentChecks(for state: CustomerState, in app: AppID) {
        for purchase in state.purchases where purchase.access?.state == .unconfirmed {
            urgentChecks.add(.init(app: app, purchase: purchase.timeline.payingPurchase))
        }
    }

    private func reconcileUrgent() async throws(EngineFailure) -> Int {
        let now = context.now()
        let worker = context.reconciliationSettings.worker
        let wanted = urgentChecks.dequeueAll().filter { canQueryAppStore($0.app) }
        guard !wanted.isEmpty else { return 0 }
        let taken = ContinuousClock.now
        let leases = try await context.transaction { tx in
            try wanted.compactMap { wish -> CheckLease? in
                guard try ReconciliationDecisions(tx).isDue(wish, at: now) else { return nil }
                return try tx.checks.lease(of: wish.purchase, in: wish.app, for: worker)
            }
        }
        try await runChecks(leases, taken: taken)
        return leases.count
    }

    /// Runs leased checks, a limited number at a time. If this process was suspended meanwhile, the
    /// leases may have expired, and another server may have leased the checks. Then no further
    /// checks are begun.
    ///
    /// - Parameter taken: a moment before the lease began, by this machine's clock.
    private func runChecks(
        _ leases: [CheckLease], taken: ContinuousClock.Instant
    ) async throws(EngineFailure) {
        let end = taken + context.reconciliationSettings.worker.lease
        do {
            try await withThrowingTaskGroup(of: Void.self) { tasks in
                for (index, lease) in leases.enumerated() {
                    if index >= context.reconciliationSettings.concurrentChecksMax {
                        try await tasks.next()
                    }
                    guard ContinuousClock.now < end else { break }
                    tasks.addTask { _ = try await runCheck(lease) }
                }
                try await tasks.waitForAll()
            }
        } catch { throw EngineFailure(error) }
    }
}

/// The order in which apps are served. Each batch begins with another app, so that every app gets
/// its share even if there are more apps than a batch holds.
final class RoundRobin: Sendable {
    private let batches = Mutex(0)

    func rotated(_ apps: [AppID]) -> [AppID] {
        guard !apps.isEmpty else { return [] }
        let first = batches.withLock { batches in
            batches = (batches + 1) % apps.count
            return batches
        }
        return Array(apps[first...] + apps[..<first])
    }
}
