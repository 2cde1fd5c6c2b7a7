import Ledger
import Rehearsal
import Storage

/// The facts about those purchases of a customer that give an entitlement, and the opinions that
/// follow from parts of these facts.
///
/// If RevenueCat has not counted a document, its opinion is the opinion that follows from our facts
/// without this document. So the opinion is computed several times: without the newest document,
/// without the two newest, and so on. Then each single document is left out in turn. At last, the
/// opinion is computed as if nothing had been refunded or revoked. Unlike the server, these
/// computations do not hold access open after the end of a period, because RevenueCat ends access
/// then.
struct RehearsalTrail {
    let facts: [FactWithSource]
    let entitlement: EntitlementID
    let app: AppSettings
    let grants: [Grant]
    let now: Instant

    var evidence: RehearsalEvidence {
        let documents = documents
        return RehearsalEvidence(
            documents: Array(documents.prefix(RehearsalService.documentsMax)),
            alternatives: alternatives(documents))
    }

    /// The documents, the newest first.
    private var documents: [RehearsalDocument] {
        var found: [DocumentID: RehearsalDocument] = [:]
        for fact in facts {
            let id = DocumentID(bytes: fact.document)
            let isRevocation = fact.fact.isRevocation || found[id]?.isRevocation == true
            found[id] = RehearsalDocument(
                id: id, attestedAt: max(found[id]?.attestedAt, fact.fact.attestedAt),
                receivedAt: fact.receivedAt, isRevocation: isRevocation)
        }
        return found.values.sorted { ($1.attestedAt, $1.id) < ($0.attestedAt, $0.id) }
    }

    private func alternatives(_ documents: [RehearsalDocument]) -> [RehearsalAlternative] {
        let newest = documents.prefix(RehearsalService.alternativesMax)
        let ends = (1...max(1, newest.count)).map { Array(newest.prefix($0)) }
        let singles = newest.dropFirst().map { [$0] }
        let all = documents.count > newest.count ? [documents] : []
        let partial = (ends + singles + all).filter { !$0.isEmpty }.map { missing in
            RehearsalAlternative(opinion(without: Set(missing.map(\.id))), missing: missing)
        }
        let revocations = documents.filter(\.isRevocation)
        guard !revocations.isEmpty else { return partial }
        let unrevoked = opinion(from: facts.map(\.fact.withoutRevocation))
        return partial + [RehearsalAlternative(unrevoked, missing: revocations)]
    }

    private func opinion(without missing: Set<DocumentID>) -> RehearsalOpinion {
        opinion(
            from: facts.filter { !missing.contains(DocumentID(bytes: $0.document)) }.map(\.fact))
    }

    private func opinion(from rest: [Fact]) -> RehearsalOpinion {
        let timelines = Set(rest.map(\.purchase)).sorted().map { Timeline(of: $0, rest) }
        var strict = app
        strict.rules.unconfirmedHold = .zero
        let rights = strict.rights(timelines, app.terms.terms(of: timelines), grants, at: now)
        return rights[entitlement].map { RehearsalOpinion($0, of: timelines, at: now) } ?? .none
    }

    private func max(_ one: Instant?, _ other: Instant) -> Instant {
        Swift.max(one ?? other, other)
    }

    private func max(_ one: Int, _ other: Int) -> Int { Swift.max(one, other) }
}

extension Fact {
    /// Whether the fact says that a payment was refunded, or that family sharing ended.
    fileprivate var isRevocation: Bool {
        if case .payment(let payment) = statement { payment.revocation != nil } else { false }
    }

    /// The fact without its refund or revocation.
    fileprivate var withoutRevocation: Fact {
        guard case .payment(var payment) = statement else { return self }
        payment.revocation = nil
        var fact = self
        fact.statement = .payment(payment)
        return fact
    }
}
