internal import PerennialContract

/// One entitlement of one customer, and all evidence about it. The time is a parameter of the
/// functions. To find the next change, the functions evaluate the evidence at each moment at which
/// something ends.
struct AccessEvaluation {
    private let entitlement: String
    private let store: SortedEvidence
    private let server: ServerEntitlement?
    /// The store's documents that count for this customer, grouped by purchase.
    private let documents: [(id: String, documents: [StoreTransaction])]

    private var evidence: Evidence { store.evidence }

    init(_ entitlement: String, _ store: SortedEvidence) {
        self.entitlement = entitlement
        self.store = store
        let evidence = store.evidence
        let owned =
            evidence.store.isTrusted
            ? store.purchases.filter { store.isOwned($0.documents[0].originalID) } : []
        documents = owned.filter { purchase in
            purchase.documents.contains { evidence.gives($0.productID, entitlement) }
        }
        server = evidence.server.map { server in
            ServerEntitlement(
                server, on: server.rights[entitlement], beside: evidence.store,
                documents: owned.map(\.documents),
                gives: { evidence.gives($0, entitlement) })
        }
    }

    /// The decision now, and when it will change without new evidence.
    var decision: AccessDecision {
        let findings = findings(at: evidence.now)
        var decision = decisionAlone(by: findings, at: evidence.now)
        decision.changesAt = moments.first {
            decisionAlone(by: self.findings(at: $0), at: $0) != decision
        }
        decision.steps = step(without: decision) + findings.map(\.step) + ignored
        return decision
    }

    /// All future moments at which the decision can change.
    private var moments: [Timestamp] {
        var ends: [Timestamp] = []
        if let server {
            ends += [server.right?.until, server.evidence.offlineUntil].compactMap(\.self)
        }
        for (_, transactions) in documents {
            ends += transactions.compactMap { $0.paidEnd(evidence.termEnds)?.time }
        }
        ends += documents.compactMap {
            evidence.store.statuses[$0.documents[0].originalID]?.graceUntil
        }
        ends += [server?.status?.graceUntil].compactMap(\.self)
        let held = ends.flatMap { end in
            [true, false].map {
                end.adding(evidence.hold(since: end, storeKnows: $0).milliseconds)
            }
        }
        if let end = store.undecidedEnd?.time { ends.append(end) }
        return Set(held + ends).filter { $0 > evidence.now }.sorted()
    }

    // MARK: - Evaluation at one time

    /// The findings of every purchase and of the server. The finding that decides comes first.
    private func findings(at now: Timestamp) -> [Finding] {
        var findings = documents.compactMap { finding(about: $0, at: now) }
        // The App Store on this device knows only the purchases of one store account.
        let storeKnows =
            server?.right?.originalTransactionID.map { id in
                evidence.store.statuses[id] != nil
                    || evidence.store.transactions.values.contains { $0.originalID == id }
            } ?? false
        let hold = { evidence.hold(since: $0, storeKnows: storeKnows) }
        if let finding = server?.finding(at: now, hold: hold) { findings.append(finding) }
        return findings.sorted { $0.outranks($1) }
    }

    /// The decision without the steps that explain it.
    private func decisionAlone(by findings: [Finding], at now: Timestamp) -> AccessDecision {
        guard let best = findings.first else { return mayShut(at: now) ? never : unknown }
        guard best.isOpen || mayShut(at: now) && !findings.contains(where: \.isSilent) else {
            return unknown
        }
        return AccessDecision(
            isActive: best.isOpen, isKnown: true, state: best.state, until: best.until,
            willRenew: best.willRenew, productID: best.productID, basis: best.basis,
            asOf: best.asOf, rule: best.rule)
    }

    /// Whether an entitlement can be shut if no evidence opens it. Only the server knows grants,
    /// purchases of another store account, and purchases on the web. The App Store on a device
    /// knows only one store account.
    private func mayShut(at now: Timestamp) -> Bool {
        reason(notToShutAt: now) == nil
    }

    /// Why an entitlement may still be open although no evidence opens it. Nil if the entitlement
    /// can be shut.
    private func reason(notToShutAt now: Timestamp) -> String? {
        if evidence.server == nil, !evidence.isStoreAlone {
            return "The server has not said anything about this customer yet."
        }
        // About an anonymous customer, the server knows only what this device has posted.
        let isAnswered =
            evidence.isStoreSilent && evidence.person != nil && evidence.server?.isLive == true
        if !evidence.isStoreRead, !isAnswered {
            return "The App Store on this device has not answered since the launch."
        }
        if evidence.isAnythingUnsent {
            return "The server has not decided yet about what this device has to send."
        }
        if let end = store.undecidedEnd, end > .at(now) {
            return "The server has not said yet what a purchase on this device gives."
        }
        return nil
    }

    private func finding(
        about purchase: (id: String, documents: [StoreTransaction]), at now: Timestamp
    ) -> Finding? {
        let original = purchase.documents[0].originalID
        let replacedBy =
            server?.replaces(original, at: now) == true ? server?.evidence.asOf : nil
        return StorePurchase(
            id: purchase.id, all: purchase.documents,
            counting: purchase.documents.filter { $0.counts(beside: replacedBy) },
            status: evidence.store.statuses[original].flatMap {
                $0.counts(beside: replacedBy) ? $0 : nil
            },
            isAbsent: purchase.documents[0].kind != .nonRenewing
                && evidence.store.absent.contains(original),
            missingSince: evidence.store.missing[original]?.seenAt,
            serverEnd: server?.lastMoment(of: original, at: now)
        ).finding(
            at: now, ends: evidence.termEnds, gives: { evidence.gives($0, entitlement) },
            hold: { evidence.hold(since: $0) })
    }

    // MARK: - Decisions without evidence

    private var never: AccessDecision {
        let server = evidence.server
        return AccessDecision(
            isActive: false, isKnown: true, state: .never,
            basis: server.map { $0.isLive ? .server : .token } ?? .store,
            asOf: server?.asOf ?? evidence.store.answeredAt, rule: 1)
    }

    private var unknown: AccessDecision {
        AccessDecision(isActive: false, isKnown: false, state: .unknown, basis: .none, rule: 1)
    }

    /// The step that says why there is no decision, or that the customer never had the entitlement.
    private func step(without decision: AccessDecision) -> [AccessDecision.Step] {
        guard decision.state == .never || !decision.isKnown else { return [] }
        let text =
            switch decision.basis {
            case .server, .token: "The server does not list this entitlement."
            case .store, .held: "The App Store on this device lists no purchase that gives it."
            case .none:
                reason(notToShutAt: evidence.now) ?? "No answer has come since it may have ended."
            }
        return [.init(rule: 1, basis: decision.basis, originalTransactionID: nil, text: text)]
    }

    /// The evidence that was ignored, and why it gives no access.
    private var ignored: [AccessDecision.Step] {
        store.purchases.compactMap { purchase in
            let original = purchase.documents[0].originalID
            let products = Set(purchase.documents.map(\.productID))
            let isGiving = products.contains { evidence.gives($0, entitlement) }
            let isMeaningless = products.allSatisfy { evidence.meanings[$0] == nil }
            guard isGiving || isMeaningless else { return nil }
            if !evidence.store.isTrusted {
                return step(3, original, "The stored evidence of the App Store is not trusted.")
            }
            if !store.isOwned(original) {
                return step(
                    3, original,
                    store.verdict(on: original) == .anotherPerson
                        ? "The server says that the purchase belongs to another person."
                        : "This device first saw the purchase for another customer.")
            }
            let names = products.sorted().joined(separator: ", ")
            guard isMeaningless else { return nil }
            let text =
                evidence.meanings.isEmpty
                ? "The offerings, which say what \(names) gives, were not read yet."
                : "The offerings do not contain \(names)."
            return step(10, original, text)
        }
    }

    private func step(_ rule: Int, _ original: String, _ text: String) -> AccessDecision.Step {
        .init(rule: rule, basis: .store, originalTransactionID: original, text: text)
    }
}

extension Evidence {
    func gives(_ product: String, _ entitlement: String) -> Bool {
        meanings[product]?.entitlements.contains(entitlement) == true
    }
}

extension StoreTransaction {
    /// Whether a document counts in addition to a server's answer that contains the document's
    /// purchase. A document counts if it is later than the answer, or if the server does not have
    /// the document yet. If both have the same time, only a refund counts.
    func counts(beside asOf: Timestamp?) -> Bool {
        guard let asOf, isAcknowledged else { return true }
        return revokedAt == nil ? signedAt > asOf : signedAt >= asOf
    }
}

extension StoreStatus {
    func counts(beside asOf: Timestamp?) -> Bool {
        guard let asOf else { return true }
        return state == .revoked ? saidAt >= asOf : saidAt > asOf
    }
}
