import AppStoreClient
import Ledger
import Storage

extension SeatService {
    /// The interval at which the seats of a group are compared with the App Store's list. The seats
    /// are also compared after each document that changes the group.
    static let seatComparisonInterval = Duration.days(1)
    /// The maximum number of groups of one app and environment that are compared one after the
    /// other under one lease.
    private static let seatComparisonsMax = 10
    private static let seatComparisonBackoff = ExponentialBackoff(
        first: .seconds(60), longest: .hours(6))

    /// Asks the App Store for the seats of groups that are due, and compares the App Store's claims
    /// with ours. Claims that the App Store has ended also end here. Claims that have ended here,
    /// but that the App Store still lists, are reported again. Claims that are not ours are
    /// counted, and take seats. Returns how many groups were processed; 0 if nothing is due.
    ///
    /// Idempotent and safe for several servers at once: each group is leased to one server. If the
    /// App Store does not answer, nothing changes.
    package func compare() async throws(EngineFailure) -> Int {
        let worker = context.reconciliationSettings.worker
        var count = 0
        for (app, environment) in reportedStores {
            guard let client = context.reconciliationSettings.appStore(app.id) else { continue }
            let now = context.now()
            let isDue = try await context.read { tx in
                try tx.seatGroups.hasDue(of: app.id, in: environment, by: now)
            }
            guard isDue else { continue }
            let leased = try await context.transaction { tx in
                try tx.seatGroups.lease(
                    of: app.id, in: environment, dueBy: now, limit: Self.seatComparisonsMax,
                    for: worker)
            }
            for group in leased { try await compare(group, of: app, client) }
            count += leased.count
        }
        return count
    }

    private func compare(
        _ leased: LeasedSeatGroup, of app: AppSettings, _ client: AppStoreClient
    ) async throws(EngineFailure) {
        let (asked, holder) = (context.now(), context.reconciliationSettings.worker.holder)
        let purchase = leased.purchase
        let isRunning = try await context.read { tx in
            try tx.purchases.timeline(of: purchase, in: app.id)?
                .takesSeatReports(at: asked, rules: app.rules) ?? false
        }
        guard isRunning else {
            return try await postpone(leased, of: app, to: nil, because: nil)
        }
        let found: SeatInventory
        do throws(AppStoreFailure) {
            found = try await client.seats(
                of: purchase.original.rawValue, in: purchase.storeEnvironment)
        } catch {
            return try await postpone(leased, of: app, after: error)
        }
        let listed = Set(found.claims.map { StoreSeatID(rawValue: $0) })
        let now = context.now()
        let foreign = try await context.transaction { tx -> Int? in
            guard let timeline = try tx.purchases.timeline(of: purchase, in: app.id) else {
                return nil
            }
            let claims = try tx.seatGroups.comparableClaims(
                on: purchase, listed: listed,
                endedSince: timeline.startInForce(at: asked) ?? asked, in: app.id)
            let comparison = StoreSeatComparison(
                listed, with: claims, on: timeline, askedAt: asked)
            let next =
                now
                + (comparison.isEarly
                    ? StoreSeatComparison.settledAfter : Self.seatComparisonInterval)
            let isRecorded = try SeatUpdates(tx).complete(
                leased,
                StoreSeats(
                    seats: found.total, available: found.available, foreign: comparison.foreign,
                    askedAt: asked), comparison, next: next, in: app.id, by: holder, at: now)
            return isRecorded ? comparison.foreign : nil
        }
        if let foreign, foreign > 0 {
            context.logger.warning(
                "the App Store lists claims on seats that are not ours",
                metadata: ["purchase": "\(purchase)", "claims": "\(foreign)"])
        }
    }

    private func postpone(
        _ leased: LeasedSeatGroup, of app: AppSettings, after failure: AppStoreFailure
    ) async throws(EngineFailure) {
        let now = context.now()
        switch failure {
        case .rateLimited(let until):
            try await postpone(
                leased, of: app, to: max(now, Instant(until)), because: "\(failure)")
        case .refused:
            // According to the App Store, the group has no seats that the app can claim.
            try await postpone(
                leased, of: app, to: now + Self.seatComparisonInterval, because: "\(failure)")
        case .unavailable where Task.isCancelled:
            try await postpone(leased, of: app, to: now, because: "\(failure)")
        case .unknownID, .unauthorized, .unavailable, .unreadable:
            let pause = Self.seatComparisonBackoff.delay(after: leased.attempts + 1)
            try await postpone(
                leased, of: app, to: now + pause, because: "\(failure)", isAttempt: true)
        }
    }

    /// - Parameter next: when to compare again; nil to wait until a document about the purchase
    ///   arrives.
    private func postpone(
        _ leased: LeasedSeatGroup, of app: AppSettings, to next: Instant?, because why: String?,
        isAttempt: Bool = false
    ) async throws(EngineFailure) {
        let holder = context.reconciliationSettings.worker.holder
        try await context.transaction { tx in
            try tx.seatGroups.retry(
                leased, at: next, because: why, isAttempt: isAttempt, in: app.id, by: holder)
        }
    }
}
