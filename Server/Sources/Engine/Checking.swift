import AppStoreClient
import AppStoreFormats
import AppStoreTrust
import Intake
import Ledger
import Storage

/// What came of asking about a purchase.
package enum CheckOutcome: Hashable, Sendable {
    /// The store answered, and what it said is kept.
    case answered(documents: Int)
    /// The store did not answer, or not so that it could be believed. All is as it was, and it
    /// will be asked again.
    case noAnswer(String)
    /// There is nobody to ask.
    case noStore
    /// Another server is asking just now, or the purchase is not known.
    case anotherServersOrUnknown
}

/// What one answer brought, so far.
struct Findings {
    var attestations: [Attestation] = []
    /// How many of these, from the first on, were kept when they came.
    var keptCount = 0
    /// Why a document of the answer was not believed.
    var refused: String?
    /// Whether it was asked for the account's transactions, and not for the state alone.
    var isListRead = false
}

extension Engine {
    /// Asks, keeps, and says when to ask again.
    ///
    /// Of a purchase never asked about the whole account's history is read: it may have begun long
    /// before we heard of it. Later the state of its chain of renewals is enough, which comes with
    /// its latest transaction; what is no subscription, and what has ended, is asked about by what
    /// changed in the history since.
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

    /// Page by page, each kept before the next is asked for: an account that has too many to be
    /// read at once is read on from there the next time. To be called before anything else is
    /// found.
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

    /// The state of a subscription's whole group.
    ///
    /// Only what is signed in the answer is kept, and counts: the status beside it does not, but
    /// for grace whose end the signed part does not name (see ``GraceAnswer``). Where no end can be
    /// told, what is signed about renewal is left out: whatever was said before goes on to hold,
    /// for as long as it would have without the answer, and the store is asked again as where it is
    /// silent.
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
                "The App Store says grace, and not until when.",
                metadata: [
                    "purchase": "\(lease.purchase)",
                    "holds": "\(saysUntilWhen ? "the shortest that fits" : "what was known")",
                ])
            return saysUntilWhen ? answered : nil
        }
    }

    /// An answer counts by its signatures, as everything else does: what is not believed is left
    /// out, and told.
    ///
    /// - Parameter attest: nil for what is not to be kept.
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
                "A document of the App Store's answer is not trusted.",
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

    // MARK: - No answer

    /// The store is left alone after more failures in a row than these, by all servers.
    private static let failuresWithoutPause = 2
    private static let storePauses = DoublingPauses(first: .seconds(15), longest: .seconds(600))

    func note(_ failure: AppStoreFailure, _ lease: CheckLease) async throws(EngineFailure) {
        let now = now()
        let isStopping = Task.isCancelled
        let environment = lease.purchase.environment
        logger.warning(
            "The App Store did not answer a question.",
            metadata: ["purchase": "\(lease.purchase)", "reason": "\(failure)"])
        try await transaction { tx in
            // A server that stops has not been refused an answer.
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
        // What was asked together with a question that failed says no more than that one did.
        guard standing.pausedUntil <= now else { return }
        try storeFailed(
            app, in: environment,
            pausedUntil: now + Engine.storePause(after: standing.failures + 1))
    }
}

extension Engine {
    /// None at first, since one purchase may fail for a reason of its own.
    fileprivate static func storePause(after failures: Int) -> Duration {
        storePauses.pause(after: failures - failuresWithoutPause)
    }
}

extension CheckLease {
    var isSubscription: Bool {
        timeline.periods.isEmpty || timeline.periods.contains { $0.payment.kind == .autoRenewable }
    }

    /// A chain that goes on is told by its state. What was given back of its past changes nothing
    /// that may be used now, and is read once in a while, and after an upgrade. What was never
    /// asked about, or has ended, or is no chain, is asked about whole.
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
    /// As the store names it.
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
