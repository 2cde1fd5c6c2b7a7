import AccessRules
import PerennialContract

/// Evidence of all kinds, including kinds that do not make sense together. Times are whole hours
/// within sixty days of now, so that some of them are equal.
extension Dice {
    mutating func evidence() -> Evidence {
        var evidence = Evidence(
            person: pick([nil, "anna", "ben"]), store: StoreEvidence(isTrusted: !once(in: 8)),
            meanings: Situation.meanings, now: Timestamp(milliseconds: 0))
        for number in 0..<Int.random(in: 0...4, using: &self) {
            purchase("\(number)00", &evidence)
        }
        if !once(in: 4) { evidence.server = server(evidence) }
        for id in evidence.originals where once(in: 5) {
            evidence.keptVerdicts[id] = pick([.theirs, .anonymous, .anotherPerson])
        }
        evidence.areMeaningsCurrent = !once(in: 3)
        if once(in: 6) { evidence.meanings = [:] }
        evidence.isStoreRead = !once(in: 8)
        evidence.isStoreSilent = !evidence.isStoreRead && once(in: 2)
        evidence.isAnythingUnsent = once(in: 12)
        if !once(in: 3) { evidence.serverAnsweredAt = time(-480...0) }
        if !once(in: 3) { evidence.store.answeredAt = time(-480...0) }
        return evidence
    }

    mutating func time(_ hours: ClosedRange<Int64>) -> Timestamp {
        Timestamp(milliseconds: Int64.random(in: hours, using: &self) * 3_600_000)
    }

    private mutating func purchase(_ id: String, _ evidence: inout Evidence) {
        let product = pick(["month", "month", "year", "guide", "season", "coins", "odd"])
        let count = product == "month" ? Int.random(in: 1...4, using: &self) : 1
        let firstSeenFor: String? = pick([nil, nil, "anna"])
        for place in 0..<count {
            var document = transaction("\(id.dropLast())\(place)", in: id, product)
            if document.kind == .nonRenewing {
                evidence.termEnds[document.id] = time(-480...960)
            }
            document.firstSeenFor = firstSeenFor
            evidence.store.transactions[document.id] = document
        }
        if product == "month" || product == "year", !once(in: 3) {
            evidence.store.statuses[id] = status(id)
        }
        if once(in: 8) { evidence.store.absent.insert(id) }
    }

    mutating func transaction(
        _ id: String, in original: String, _ product: String
    ) -> StoreTransaction {
        let from = time(-1440...0)
        let kind = Situation.products[product]?.kind ?? .renewing
        let length = Int64.random(in: 1...1440, using: &self) * 3_600_000
        var document = StoreTransaction(
            id: id, originalID: original, productID: product, kind: kind, purchasedAt: from,
            signedAt: max(from, time(-720...0)))
        if kind == .renewing {
            document.expiresAt = Timestamp(milliseconds: from.milliseconds + length)
        }
        if once(in: 4) { document.revokedAt = max(from, time(-720...0)) }
        document.isRevokedByFamily = document.revokedAt != nil && once(in: 3)
        document.isUpgraded = once(in: 10)
        document.offer = pick([.none, .none, .trial, .other])
        document.isHeld = once(in: 8)
        document.isAcknowledged = !once(in: 3)
        return document
    }

    mutating func status(_ id: String) -> StoreStatus {
        let state: StoreStatus.State = pick([.subscribed, .expired, .retry, .grace, .revoked])
        return StoreStatus(
            originalID: id, state: state, willRenew: pick([nil, true, false]),
            graceUntil: state == .grace && !once(in: 4) ? time(-240...240) : nil,
            signedAt: time(-720...0), isConfirmed: state != .expired || !once(in: 3))
    }

    private mutating func server(_ evidence: Evidence) -> ServerEvidence {
        var answer = ServerEvidence(
            asOf: time(-720...0), isLive: once(in: 2),
            offlineUntil: once(in: 4) ? nil : time(-240...720), rights: [:], verdicts: [:])
        for id in evidence.originals where !once(in: 3) {
            answer.verdicts[id] = pick([.theirs, .theirs, .anonymous, .anotherPerson])
        }
        if !once(in: 4) { answer.rights["pro"] = right(evidence) }
        return answer
    }

    private mutating func right(_ evidence: Evidence) -> ServerEvidence.Right {
        let state: AccessState = pick([
            .paid, .paid, .trial, .owned, .granted, .unconfirmed, .grace, .retry, .expired,
            .refunded,
        ])
        var right = ServerEvidence.Right(
            isActive: ![.retry, .expired, .refunded].contains(state), state: state,
            until: [.owned, .granted].contains(state) && !once(in: 4) ? nil : time(-480...480))
        if state != .granted {
            right.originalTransactionID = pick(evidence.originals + ["900"])
            right.productID = "month"
            right.mayRenew = right.isActive && state != .owned && !once(in: 3)
        }
        return right
    }
}

extension Evidence {
    var originals: [String] { Set(store.transactions.values.map(\.originalID)).sorted() }
}

extension AccessDecision {
    /// The decision without the explanation.
    var answer: AccessDecision {
        var answer = self
        (answer.steps, answer.changesAt) = ([], nil)
        return answer
    }
}
