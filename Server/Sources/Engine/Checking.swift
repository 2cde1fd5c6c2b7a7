import AppStoreClient
import AppStoreFormats
import AppStoreTrust
import Intake
import Ledger
import Storage

/// The result of checking a purchase.
package enum CheckOutcome: Hashable, Sendable {
    /// The App Store responded, and its documents are recorded.
    case answered(documents: Int)
    /// The App Store did not respond, or the response could not be verified. Nothing changed, and
    /// the check will be retried.
    case noAnswer(String)
    /// The app has no credentials to query the App Store with.
    case noStore
    /// Another server is checking the purchase right now, or the purchase is unknown.
    case anotherServersOrUnknown
}

/// What one check has found so far.
struct Findings {
    var attestations: [Attestation] = []
    /// How many of these, from the first on, were recorded when they were read.
    var keptCount = 0
    /// Why a document of the response was rejected.
    var refused: String?
    /// Whether the account's transactions were read, not only the subscription status.
    var isListRead = false
}

extension Engine {
    /// Queries the App Store about a leased purchase, records the response, and schedules the next
    /// check.
    ///
    /// For a purchase that was never checked, the account's whole history is read: it may have
    /// begun long before we first saw it. Later the status of the subscription is enough, which
    /// contains its latest transaction. Purchases that are not subscriptions, or have ended, are
    /// checked by what changed in the history since.
    func carryOut(_ lease: CheckLease) async throws(EngineFailure) -> CheckOutcome {
        guard let client = asking.appStore(lease.app) else {
            return try await carryOutByReceipt(lease)
        }
        let asked = now()
        do {
            var findings = Findings()
            if lease.needsHistory(at: asked, rules: asking.rules) {
                try await readHistory(of: lease, from: client, into: &findings)
            }
            if lease.isSubscription {
                try await askState(of: lease.purchase, for: lease, from: client, into: &findings)
            }
            return try await end(lease, findings, asked: asked)
        } catch let failure as AppStoreFailure {
            counters.checksFailed.add()
            try await note(failure, lease)
            return .noAnswer("\(failure) \(failure.remedy)")
        } catch { throw EngineFailure(error) }
    }

    /// Reads the history page by page and records each page before requesting the next one. If an
    /// account has too many transactions for one check, the next check continues from there. Call
    /// this before anything else is added to the result.
    func readHistory(
        of lease: CheckLease, from client: AppStoreClient, into findings: inout Findings
    ) async throws {
        var pages = client.historyPages(
            of: lease.purchase.original.rawValue, in: lease.purchase.storeEnvironment,
            after: lease.revision)
        while let page = try await pages.next() {
            var found = Findings()
            for jws in page.signedTransactions { await take(transaction: jws, of: lease, &found) }
            let kept = found.attestations
            let isWhole = found.refused == nil && findings.refused == nil
            try await transaction { tx in
                var purses = Purses()
                for attestation in kept { _ = try tx.keep(attestation.kept, &purses) }
                if isWhole {
                    try tx.put(revision: page.revision, of: lease.purchase, in: lease.app)
                }
            }
            findings.attestations += kept
            findings.keptCount += kept.count
            findings.refused = findings.refused ?? found.refused
        }
        findings.isListRead = true
    }

    /// Fetches the status of a subscription's whole group.
    ///
    /// Only the signed parts of the response are recorded and count. The unsigned status next to
    /// them does not count, except for a grace period whose end the signed part does not name (see
    /// ``GraceResponse``). If no end can be determined, the signed renewal info is skipped:
    /// whatever was known before stays valid for as long as it would have without the response, and
    /// the App Store is queried again as if it had not responded.
    func askState(
        of purchase: PurchaseID, for lease: CheckLease, from client: AppStoreClient,
        into findings: inout Findings
    ) async throws(AppStoreFailure) {
        let statuses = try await client.statuses(
            of: purchase.original.rawValue, in: purchase.storeEnvironment)
        for status in statuses {
            await take(transaction: status.signedTransactionInfo, of: lease, &findings)
            await take(renewalIn: status, of: lease, &findings)
        }
    }

    func take(
        transaction jws: String, of lease: CheckLease, _ findings: inout Findings
    ) async {
        await take(of: lease, &findings) { verifier, origin throws(EngineFailure) in
            try await attest(transaction: Array(jws.utf8), verifier, origin)
        }
    }

    func take(
        renewalIn answer: StatusAnswer, of lease: CheckLease, _ findings: inout Findings
    ) async {
        await take(of: lease, &findings) { verifier, origin throws(EngineFailure) in
            let jws = Array(answer.signedRenewalInfo.utf8)
            let attestation = try await attest(renewal: jws, verifier, origin)
            let isWhole = attestation.facts.allSatisfy { fact in
                Intake.isWhole(fact, beside: answer.status)
            }
            guard !isWhole else { return attestation }
            let answered = try await attest(
                graceAnswer: GraceAnswer(signedRenewalInfo: answer.signedRenewalInfo).bytes,
                verifier, origin)
            let saysUntilWhen = answered.facts.contains { fact in
                Intake.isWhole(fact, beside: answer.status)
            }
            logger.notice(
                "the App Store reports a grace period without its end",
                metadata: [
                    "purchase": "\(lease.purchase)",
                    "holds": "\(saysUntilWhen ? "the shortest that fits" : "what was known")",
                ])
            return saysUntilWhen ? answered : nil
        }
    }

    /// Verifies a document and adds it to the result. A response counts only by its signatures, as
    /// everything else does: a document that cannot be verified is skipped, and the reason is
    /// recorded.
    ///
    /// - Parameter attest: verifies the document; returns nil if it is not to be recorded.
    private func take(
        of lease: CheckLease, _ findings: inout Findings,
        _ attest: (Verifier, Attestation.Origin) async throws(EngineFailure) -> Attestation?
    ) async {
        do {
            let (app, verifier) = try app(lease.app)
            let origin = Attestation.Origin(
                app: app, source: .reconciliation, receivedAt: now(), digests: digests)
            guard let attestation = try await attest(verifier, origin) else { return }
            findings.attestations.append(attestation)
        } catch {
            findings.refused = findings.refused ?? "\(error)"
        }
    }

    func end(
        _ lease: CheckLease, _ findings: Findings, asked: Instant
    ) async throws(EngineFailure) -> CheckOutcome {
        if let refused = findings.refused {
            logger.error(
                "a document of the App Store's response is not trusted",
                metadata: ["purchase": "\(lease.purchase)", "reason": "\(refused)"])
        }
        let told = Set(findings.attestations.flatMap { $0.facts.map(\.purchase) }).sorted()
        let isWhole = lease.history.askedAt == nil
        let rest = findings.attestations.dropFirst(findings.keptCount)
        try await transaction { tx in
            var purses = Purses()
            for attestation in rest { _ = try tx.keep(attestation.kept, &purses) }
            try tx.storeAnswered(lease.app, in: lease.purchase.environment, at: asked)
            if findings.refused == nil {
                try tx.answered(
                    lease.purchase, alsoTold: told, of: lease.app, asked: asked, isWhole: isWhole,
                    isListRead: findings.isListRead)
            } else {
                try tx.failed(lease, at: asked)
            }
        }
        counters.checksAnswered.add()
        if let refused = findings.refused { return .noAnswer(refused) }
        return .answered(documents: findings.attestations.count)
    }

    // MARK: - Failures

    /// After more failures in a row than these, all servers pause queries to the App Store.
    private static let failuresWithoutPause = 2
    private static let storePauses = DoublingPauses(first: .seconds(15), longest: .seconds(600))

    func note(_ failure: AppStoreFailure, _ lease: CheckLease) async throws(EngineFailure) {
        let now = now()
        let isStopping = Task.isCancelled
        let environment = lease.purchase.environment
        logger.warning(
            "checking a purchase with the App Store failed",
            metadata: ["purchase": "\(lease.purchase)", "reason": "\(failure)"])
        try await transaction { tx in
            // If this server is stopping, the failure is not the App Store's.
            if isStopping { return try tx.release(lease) }
            switch failure {
            case .tooMany(let until):
                try tx.storePaused(lease.app, in: environment, until: Instant(until))
                try tx.release(lease)
            case .unknownThere, .refused:
                try tx.storeAnswered(lease.app, in: environment, at: now)
                try tx.failed(lease, at: now)
            case .unauthorized, .unavailable, .unreadable:
                try tx.noteFailure(of: lease.app, in: environment, at: now)
                try tx.failed(lease, at: now)
            }
        }
    }
}

extension StoreTransaction {
    func noteFailure(
        of app: AppID, in environment: Ledger.Environment, at now: Instant
    ) throws(StorageFailure) {
        let standing = try standing(of: app, in: environment)
        // A request that was sent together with a failed one adds no information if it fails too.
        guard standing.pausedUntil <= now else { return }
        try storeFailed(
            app, in: environment,
            pausedUntil: now + Engine.storePause(after: standing.failures + 1))
    }
}

extension Engine {
    /// There is no pause after the first failures, since one purchase may fail for a reason of its
    /// own.
    fileprivate static func storePause(after failures: Int) -> Duration {
        storePauses.pause(after: failures - failuresWithoutPause)
    }
}

extension CheckLease {
    var isSubscription: Bool {
        timeline.periods.isEmpty || timeline.periods.contains { $0.payment.kind == .autoRenewable }
    }

    /// Whether the whole history must be read. For a running subscription the status is enough.
    /// Refunds of its earlier periods change nothing that may be used now; they are read
    /// periodically, and after an upgrade. Purchases that were never checked, have ended, or are
    /// not subscriptions are checked by their history.
    func needsHistory(at now: Instant, rules: CheckRules) -> Bool {
        guard let asked = history.askedAt, isSubscription else { return true }
        let isUpgradedToUnknown = timeline.periods.last?.isUpgradedToUnknown
        let isOver = timeline.access(at: now).map { !$0.isOpen && $0.state != .retry }
        return isUpgradedToUnknown ?? true || isOver ?? true
            || timeline.unreadUpgrade(after: asked) != nil
            || history.isFirst(at: now, inEach: rules.sweep / 2)
    }
}

extension PurchaseID {
    /// The environment as the App Store client names it.
    var storeEnvironment: StoreEnvironment { environment.storeEnvironment }
}

extension Ledger.Environment {
    var storeEnvironment: StoreEnvironment {
        switch self {
        case .production: .production
        case .sandbox: .sandbox
        }
    }
}
