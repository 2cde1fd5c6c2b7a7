import AppStoreClient
import AppStoreFormats
import Ledger
import Storage

extension SeatService {
    /// The maximum number of claims of one app and environment that are reported one after the
    /// other under one lease. The lease must last until the last of these requests has timed out.
    private static let seatReportsMax = 10
    /// The pauses between attempts. The number of attempts is not limited.
    private static let seatReportBackoff = ExponentialBackoff(
        first: .seconds(15), longest: .hours(6))

    /// Whether the App Store gets reports about claims on seats.
    func reportsSeats(of app: AppSettings, in environment: Ledger.Environment) -> Bool {
        app.seatReports.contains(environment)
            && context.reconciliationSettings.appStore(app.id) != nil
    }

    /// The App Stores that get reports about claims on seats, production first.
    var reportedStores: [(app: AppSettings, environment: Ledger.Environment)] {
        context.apps.sorted { $0.key < $1.key }.flatMap { _, app in
            Ledger.Environment.allCases.filter { reportsSeats(of: app, in: $0) }.map { (app, $0) }
        }
    }

    /// Reports to the App Store the claims on seats that have begun or ended. Returns the number of
    /// processed claims; 0 if nothing is due.
    ///
    /// Idempotent and safe for several servers at once: each claim is leased to one server. The
    /// claim's id identifies the request, so the App Store makes only one claim if a request is
    /// repeated. The database records each request before it is sent. If the server then dies,
    /// another server repeats the request.
    package func report() async throws(EngineFailure) -> Int {
        var count = 0
        for (app, environment) in reportedStores {
            guard let client = context.reconciliationSettings.appStore(app.id) else { continue }
            let due = context.now()
            let isDue = try await context.read { tx in
                try tx.seatReports.hasDue(of: app.id, in: environment, by: due)
            }
            guard isDue else { continue }
            let leased = try await leaseSeatReports(of: app, in: environment)
            for (report, step) in leased.steps {
                try await perform(step, report, of: app, client)
            }
            count += leased.count
        }
        return count
    }

    /// Leases claims, and decides what to report about each. Releases claims about which nothing is
    /// to be reported.
    private func leaseSeatReports(
        of app: AppSettings, in environment: Ledger.Environment
    ) async throws(EngineFailure) -> (
        count: Int, steps: [(LeasedSeatReport, SeatReport.Step)]
    ) {
        let (now, worker) = (context.now(), context.reconciliationSettings.worker)
        return try await context.transaction { tx in
            let leased = try tx.seatReports.lease(
                of: app.id, in: environment, dueBy: now, limit: Self.seatReportsMax, for: worker)
            let steps = try leased.compactMap { report -> (LeasedSeatReport, SeatReport.Step)? in
                let (claim, purchase) = (report.stored.claim, report.stored.purchase)
                let timeline = try tx.purchases.timeline(of: purchase, in: app.id)
                let step = claim.report.step(
                    isOpen: timeline?.isOpen(claim) ?? (claim.end == nil),
                    isRunning: timeline?.takesSeatReports(at: now, rules: app.rules) ?? false)
                switch step {
                case .claim: try tx.seatReports.recordAsked(about: claim.id, in: app.id, at: now)
                case .unclaim: break
                case .wait, .nothing:
                    var state = claim.report.state
                    // If only the timeline ends a claim, a late document can open the claim again.
                    let isOver = claim.end != nil
                    if step == .wait {
                        state = .off
                    } else if ![.reported, .ended].contains(state) {
                        state = isOver ? .ended : .off
                    }
                    try tx.seatReports.stopReporting(
                        report.stored, as: state, in: app.id, by: worker.holder)
                    return nil
                }
                return (report, step)
            }
            return (leased.count, steps)
        }
    }

    private func perform(
        _ step: SeatReport.Step, _ leased: LeasedSeatReport, of app: AppSettings,
        _ client: AppStoreClient
    ) async throws(EngineFailure) {
        let (claim, purchase) = (leased.stored.claim, leased.stored.purchase)
        let original = purchase.original.rawValue
        let answer: SeatReport.Answer
        var trouble: String?
        do throws(AppStoreFailure) {
            switch step {
            case .claim:
                let id = try await client.claimSeat(
                    of: original, requestID: claim.id.rawValue, in: purchase.storeEnvironment)
                answer = .claimed(StoreSeatID(rawValue: id))
            case .unclaim(let id):
                try await client.unclaimSeat(
                    id.rawValue, of: original, in: purchase.storeEnvironment)
                answer = .unclaimed
            case .wait, .nothing: return
            }
        } catch {
            guard let refusal = SeatReport.Answer(error) else {
                return try await retry(leased, of: app, after: error)
            }
            (answer, trouble) = (refusal, "\(error)")
        }
        let (now, holder, refused) = (
            context.now(), context.reconciliationSettings.worker.holder, trouble
        )
        if let refused {
            context.logger.warning(
                "the App Store did not accept a report about a seat",
                metadata: [
                    "claim": "\(claim.id)", "purchase": "\(purchase)", "reason": "\(refused)",
                ]
            )
        }
        try await context.transaction { tx in
            try SeatUpdates(tx).complete(
                leased, answer, trouble: refused, in: app.id, by: holder,
                nextComparison: now + StoreSeatComparison.settledAfter, at: now)
        }
    }

    private func retry(
        _ leased: LeasedSeatReport, of app: AppSettings, after failure: AppStoreFailure
    ) async throws(EngineFailure) {
        let (now, holder) = (context.now(), context.reconciliationSettings.worker.holder)
        var next = now + Self.seatReportBackoff.delay(after: leased.attempts + 1)
        var isAttempt = true
        if case .rateLimited(let until) = failure {
            (next, isAttempt) = (max(now, Instant(until)), false)
        } else if Task.isCancelled {
            // If this server is stopping, the App Store did not cause the failure.
            (next, isAttempt) = (now, false)
        }
        let (due, counts) = (next, isAttempt)
        try await context.transaction { tx in
            try tx.seatReports.retry(
                leased, at: due, because: "\(failure)", isAttempt: counts, in: app.id, by: holder)
        }
    }
}

extension SeatReport.Answer {
    /// Converts a failure to the App Store's answer about a claim. Returns nil if the request is to
    /// be repeated.
    fileprivate init?(_ failure: AppStoreFailure) {
        guard case .refused = failure else { return nil }
        switch failure.seatError {
        case .noAvailableSeats?: self = .noSeat
        case .claimNotFound?: self = .unclaimed
        case .notManagedByApp?: self = .notRunning
        case .appTransactionNotFound?, nil: self = .refused
        }
    }
}

extension Timeline {
    /// Whether the App Store accepts reports about the seats, because the subscription runs and the
    /// app invites its members.
    func takesSeatReports(at now: Instant, rules: AccessRules) -> Bool {
        seatHost(at: now) == .developer && access(at: now, rules: rules)?.isOpen == true
    }
}

extension SeatClaim {
    /// The claim as responses show it. If the App Store gets no reports, the due report is left
    /// out.
    func shown(isReported: Bool) -> SeatClaim {
        var claim = self
        if !isReported, report.state == .due { claim.report.state = .off }
        return claim
    }
}
