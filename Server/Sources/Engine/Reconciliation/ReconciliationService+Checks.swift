import AppStoreClient
import AppStoreFormats
import AppStoreTrust
import Intake
import Ledger
import Storage

/// The result of checking a purchase.
package enum CheckOutcome: Hashable, Sendable {
    /// The App Store responded, and its documents are recorded.
    case responded(documents: Int)
    /// The App Store did not respond, or the response could not be verified. Nothing changed, and
    /// the check will be retried.
    case noResponse(String)
    /// The app has no credentials for queries to the App Store.
    case notConfigured
    /// Another server is checking the purchase right now, or the purchase is unknown.
    case leasedElsewhereOrUnknown
}

/// The documents and other results that one check has found so far.
struct CheckResult {
    var attestations: [VerifiedDocument] = []
    /// The number of ``attestations`` that were recorded already when they were read. They come
    /// first in the list.
    var recordedCount = 0
    /// Why a document of the response was rejected.
    var rejection: String?
    /// Whether the account's transactions were read, not only the subscription status.
    var isListRead = false
}

extension ReconciliationService {
    /// Queries the App Store about a leased purchase, records the response, and schedules the next
    /// check.
    ///
    /// For a purchase that was never checked, the account's whole history is read, because the
    /// purchase may have begun long before it became known. Later, the status of the subscription
    /// is enough, because it contains the latest transaction. Purchases that are not subscriptions,
    /// or that have ended, are checked by reading the changes of the history since the last check.
    func runCheck(_ lease: CheckLease) async throws(EngineFailure) -> CheckOutcome {
        guard let client = context.reconciliationSettings.appStore(lease.app) else {
            return try await runCheckByReceipt(lease)
        }
        let asked = context.now()
        do {
            var findings = CheckResult()
            if lease.needsHistory(at: asked, rules: context.reconciliationSettings.rules) {
                try await readHistory(of: lease, from: client, into: &findings)
            }
            if lease.isSubscription {
                try await fetchStatuses(
                    of: lease.purchase, for: lease, from: client, into: &findings)
            }
            return try await completeCheck(lease, findings, asked: asked)
        } catch let failure as AppStoreFailure {
            context.counters.checksFailed.add()
            try await recordFailure(failure, lease)
            return .noResponse("\(failure) \(failure.remedy)")
        } catch { throw EngineFailure(error) }
    }

    /// Reads the history page by page and records each page before requesting the next one. If an
    /// account has too many transactions for one check, the next check continues after the last
    /// page. The result must be empty when this function is called.
    func readHistory(
        of lease: CheckLease, from client: AppStoreClient, into findings: inout CheckResult
    ) async throws {
        var pages = client.historyPages(
            of: lease.purchase.original.rawValue, in: lease.purchase.storeEnvironment,
            after: lease.revision)
        while let page = try await pages.next() {
            var found = CheckResult()
            for jws in page.signedTransactions {
                await collect(transaction: jws, of: lease, &found)
            }
            let kept = found.attestations
            let isWhole = found.rejection == nil && findings.rejection == nil
            try await context.transaction { tx in
                var walletCache = WalletProjectionCache()
                for attestation in kept {
                    _ = try DocumentRecorder(tx).record(attestation.documentWithFacts, &walletCache)
                }
                if isWhole {
                    try tx.checks.save(revision: page.revision, of: lease.purchase, in: lease.app)
                }
            }
            findings.attestations += kept
            findings.recordedCount += kept.count
            findings.rejection = findings.rejection ?? found.rejection
        }
        findings.isListRead = true
    }

    /// Fetches the status of a subscription's whole group.
    ///
    /// Only the signed parts of the response are recorded and used. The unsigned status next to
    /// them is ignored. The only exception is a grace period whose end the signed part does not
    /// name (see ``GraceResponse``). If no end can be determined, the signed renewal info is
    /// skipped. The effect is then the same as if no response had arrived: the stored information
    /// stays valid for the same time, and the next query comes equally soon.
    func fetchStatuses(
        of purchase: PurchaseID, for lease: CheckLease, from client: AppStoreClient,
        into findings: inout CheckResult
    ) async throws(AppStoreFailure) {
        let statuses = try await client.statuses(
            of: purchase.original.rawValue, in: purchase.storeEnvironment)
        for status in statuses {
            await collect(transaction: status.signedTransactionInfo, of: lease, &findings)
            await collect(renewalIn: status, of: lease, &findings)
        }
    }

    func collect(
        transaction jws: String, of lease: CheckLease, _ findings: inout CheckResult
    ) async {
        await collect(of: lease, &findings) { verifier, origin throws(EngineFailure) in
            try await verification.verify(transaction: Array(jws.utf8), verifier, origin)
        }
    }

    func collect(
        renewalIn answer: SubscriptionChainStatus, of lease: CheckLease,
        _ findings: inout CheckResult
    ) async {
        await collect(of: lease, &findings) { verifier, origin throws(EngineFailure) in
            let jws = Array(answer.signedRenewalInfo.utf8)
            let attestation = try await verification.verify(renewal: jws, verifier, origin)
            let isWhole = attestation.facts.allSatisfy { fact in
                Intake.isComplete(fact, beside: answer.status)
            }
            guard !isWhole else { return attestation }
            let answered = try await verification.verify(
                graceAnswer: GraceResponse(signedRenewalInfo: answer.signedRenewalInfo).bytes,
                verifier, origin)
            let saysUntilWhen = answered.facts.contains { fact in
                Intake.isComplete(fact, beside: answer.status)
            }
            context.logger.notice(
                "the App Store reports a grace period without its end",
                metadata: [
                    "purchase": "\(lease.purchase)",
                    "holds": "\(saysUntilWhen ? "the shortest that fits" : "what was known")",
                ])
            return saysUntilWhen ? answered : nil
        }
    }

    /// Verifies a document and adds it to the result. Only the signed parts of a response are used.
    /// A document that cannot be verified is skipped, and the reason is recorded.
    ///
    /// - Parameter attest: verifies the document; returns nil if it is not to be recorded.
    private func collect(
        of lease: CheckLease, _ findings: inout CheckResult,
        _ attest: (Verifier, VerifiedDocument.Origin) async throws(EngineFailure) ->
            VerifiedDocument?
    ) async {
        do {
            let (app, verifier) = try context.app(lease.app)
            let origin = VerifiedDocument.Origin(
                app: app, source: .reconciliation, receivedAt: context.now(),
                digests: context.digests)
            guard let attestation = try await attest(verifier, origin) else { return }
            findings.attestations.append(attestation)
        } catch {
            findings.rejection = findings.rejection ?? "\(error)"
        }
    }

    func completeCheck(
        _ lease: CheckLease, _ findings: CheckResult, asked: Instant
    ) async throws(EngineFailure) -> CheckOutcome {
        if let refused = findings.rejection {
            context.logger.error(
                "a document of the App Store's response is not trusted",
                metadata: ["purchase": "\(lease.purchase)", "reason": "\(refused)"])
        }
        let told = Set(findings.attestations.flatMap { $0.facts.map(\.purchase) }).sorted()
        let isWhole = lease.history.askedAt == nil
        let rest = findings.attestations.dropFirst(findings.recordedCount)
        try await context.transaction { tx in
            var walletCache = WalletProjectionCache()
            for attestation in rest {
                _ = try DocumentRecorder(tx).record(attestation.documentWithFacts, &walletCache)
            }
            try tx.appStore.responded(lease.app, in: lease.purchase.environment, at: asked)
            if findings.rejection == nil {
                try tx.checks.complete(
                    lease.purchase, alsoReporting: told, of: lease.app, asked: asked,
                    isWhole: isWhole,
                    isListRead: findings.isListRead)
            } else {
                try tx.checks.fail(lease, at: asked)
            }
        }
        context.counters.checksResponded.add()
        if let refused = findings.rejection { return .noResponse(refused) }
        return .responded(documents: findings.attestations.count)
    }
}

extension CheckLease {
    var isSubscription: Bool {
        timeline.periods.isEmpty || timeline.periods.contains { $0.payment.kind == .autoRenewable }
    }

    /// Whether the whole history must be read. For a running subscription the status is enough.
    /// Refunds of its earlier periods do not change the present access. Refunds of earlier periods
    /// are read periodically, and after an upgrade. Purchases that were never checked, have ended,
    /// or are not subscriptions are checked by their history.
    func needsHistory(at now: Instant, rules: CheckRules) -> Bool {
        guard let asked = history.askedAt, isSubscription else { return true }
        let isUpgradedToUnknown = timeline.periods.last?.isUpgradedToUnknown
        let isOver = timeline.access(at: now).map { !$0.isOpen && $0.state != .retry }
        return isUpgradedToUnknown ?? true || isOver ?? true
            || timeline.unresolvedUpgrade(after: asked) != nil
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
