internal import PerennialContract

/// One right of one customer, and all that was said about it. The time is a parameter, because the
/// moment of the next change is found by trying the moments at which something ends.
struct Question {
    private let entitlement: String
    private let store: StoreEvidence
    private let server: ServerVoice?
    /// The store's words that count for this customer, by purchase.
    private let documents: [(id: String, documents: [StoreTransaction])]

    private var evidence: Evidence { store.evidence }

    init(_ entitlement: String, _ store: StoreEvidence) {
        self.entitlement = entitlement
        self.store = store
        let evidence = store.evidence
        let owned =
            evidence.store.isTrusted
            ? store.purchases.filter { store.isOwned($0.documents[0].originalID) } : []
        documents = owned.filter { purchase in
            purchase.documents.contains { evidence.gives($0.productID, entitlement) }
        }
        server = evidence.server.map { word in
            ServerVoice(
                word, on: word.rights[entitlement], beside: evidence.store,
                documents: owned.map(\.documents),
                gives: { evidence.gives($0, entitlement) })
        }
    }

    /// The answer now, and when time alone will change it.
    var judgement: Judgement {
        let findings = findings(at: evidence.now)
        var judgement = decision(by: findings)
        judgement.changesAt = moments.first { decision(by: self.findings(at: $0)) != judgement }
        judgement.steps = step(without: judgement) + findings.map(\.step) + ignored
        return judgement
    }

    /// All moments to come at which the answer can change.
    private var moments: [Timestamp] {
        var ends: [Timestamp] = []
        if let server {
            ends += [server.right?.until, server.word.offlineUntil].compactMap(\.self)
        }
        for (_, transactions) in documents {
            ends += transactions.compactMap { $0.paidEnd(evidence.termEnds)?.time }
        }
        ends += documents.compactMap {
            evidence.store.statuses[$0.documents[0].originalID]?.graceUntil
        }
        ends += [server?.status?.graceUntil].compactMap(\.self)
        let held = ends.flatMap { [$0, $0.adding(hold(since: $0))] }
        return Set(held).filter { $0 > evidence.now }.sorted()
    }

    // MARK: - At one moment

    /// What every purchase and the server say. The first one decides.
    private func findings(at now: Timestamp) -> [Finding] {
        var findings = documents.compactMap { finding(about: $0, at: now) }
        if let word = server?.finding(at: now, hold: hold) { findings.append(word) }
        return findings.sorted { $0.outranks($1) }
    }

    /// The answer, without its explanation.
    private func decision(by findings: [Finding]) -> Judgement {
        guard let best = findings.first else { return nothing }
        if !store.isKnown, findings.contains(where: \.isSilent) { return unknown }
        if isUnheardOf(best) { return unknown }
        return Judgement(
            isActive: best.isOpen, isKnown: true, state: best.state, until: best.until,
            willRenew: best.willRenew, productID: best.productID, basis: best.basis,
            asOf: best.asOf, rule: best.rule)
    }

    /// Whether a right ended while nobody listened, and the store is only being asked: it may have
    /// been renewed.
    private func isUnheardOf(_ best: Finding) -> Bool {
        guard !evidence.isStoreRead, !best.isOpen, best.willRenew != false, let end = best.until
        else { return false }
        return lastAnswer.map { $0 < end } ?? true
    }

    private func finding(
        about purchase: (id: String, documents: [StoreTransaction]), at now: Timestamp
    ) -> Finding? {
        let original = purchase.documents[0].originalID
        let replacedBy =
            server?.replaces(original, at: now) == true ? server?.word.asOf : nil
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
            hold: hold)
    }

    /// How long what ended then is held open, in milliseconds.
    private func hold(since end: Timestamp) -> Int64 {
        lastAnswer.map { $0 >= end } == true
            ? evidence.holds.answered : evidence.holds.silent
    }

    /// When the server or the store last said anything.
    private var lastAnswer: Timestamp? {
        let store = evidence.store.isTrusted ? evidence.store.answeredAt : nil
        return [evidence.serverAnsweredAt, store].compactMap(\.self).max()
    }

    // MARK: - Without a word

    private var nothing: Judgement {
        if let word = evidence.server {
            return never(by: word.isLive ? .server : .token, word.asOf)
        }
        return store.isKnown ? never(by: .store, evidence.store.answeredAt) : unknown
    }

    private func never(by basis: Judgement.Basis, _ asOf: Timestamp?) -> Judgement {
        Judgement(
            isActive: false, isKnown: true, state: .never, basis: basis, asOf: asOf, rule: 1)
    }

    private var unknown: Judgement {
        Judgement(isActive: false, isKnown: false, state: .unknown, basis: .none, rule: 1)
    }

    /// Why there is no answer, or only that the customer never had it.
    private func step(without judgement: Judgement) -> [Judgement.Step] {
        guard judgement.state == .never || !judgement.isKnown else { return [] }
        let text =
            switch judgement.basis {
            case .server, .token: "The server names no such right."
            case .store, .held: "The App Store on this device lists nothing that gives it."
            case .none:
                "Neither the server nor the App Store says anything about this customer."
            }
        return [.init(rule: 1, basis: judgement.basis, originalTransactionID: nil, text: text)]
    }

    /// What was heard, and why it opens nothing.
    private var ignored: [Judgement.Step] {
        store.purchases.compactMap { purchase in
            let original = purchase.documents[0].originalID
            let products = Set(purchase.documents.map(\.productID))
            let isGiving = products.contains { evidence.gives($0, entitlement) }
            let isMeaningless = products.allSatisfy { evidence.meanings[$0] == nil }
            guard isGiving || isMeaningless else { return nil }
            if !evidence.store.isTrusted {
                return step(3, original, "What was kept of the App Store's words is not trusted.")
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

    private func step(_ rule: Int, _ original: String, _ text: String) -> Judgement.Step {
        .init(rule: rule, basis: .store, originalTransactionID: original, text: text)
    }
}

extension Evidence {
    func gives(_ product: String, _ entitlement: String) -> Bool {
        meanings[product]?.entitlements.contains(entitlement) == true
    }
}

extension StoreTransaction {
    /// Whether it counts beside a word of the server that knows the purchase: if it is later, or if
    /// the server does not have it yet. At equal times a refund counts, otherwise the server.
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
