internal import PerennialContract

/// The evidence, with the store's documents sorted into purchases, and each purchase's owner.
struct SortedEvidence {
    let evidence: Evidence
    /// The documents by purchase, sorted by time of purchase. The id of a purchase is the original
    /// transaction id or, for a term, the term's own transaction id.
    let purchases: [(id: String, documents: [StoreTransaction])]
    /// The ids of purchases whose documents count for this customer.
    private let owned: Set<String>
    /// The latest end of the purchases that may give the entitlement although no evidence says so.
    /// For these purchases, the offerings are missing or outdated, and the server has not decided.
    /// Nil if there is no such purchase.
    let undecidedEnd: StorePurchase.End?

    init(_ evidence: Evidence) {
        self.evidence = evidence
        let all = evidence.store.transactions.values
        let verdicts = evidence.verdicts
        let byOriginal = Dictionary(grouping: all, by: \.originalID)
        let owned = Set(
            byOriginal.filter { original, documents in
                evidence.isTheirs(documents, by: verdicts[original])
            }.keys)
        self.owned = owned
        purchases = Dictionary(grouping: all.filter { $0.kind != .consumable }, by: \.purchase)
            .map { id, documents in (id, documents.sorted(by: Self.precedes)) }
            .sorted { $0.id < $1.id }
        undecidedEnd =
            purchases.filter { owned.contains($0.documents[0].originalID) }
            .compactMap { evidence.undecidedEnd(of: $0.documents) }.max()
    }

    /// Whether the documents of a purchase count for this customer.
    func isOwned(_ original: String) -> Bool { owned.contains(original) }

    func verdict(on original: String) -> Verdict? { evidence.verdicts[original] }

    private static func precedes(_ one: StoreTransaction, _ other: StoreTransaction) -> Bool {
        (one.purchasedAt, one.id) < (other.purchasedAt, other.id)
    }
}

extension StoreTransaction {
    /// The purchase that the transaction belongs to. Each term is a separate purchase.
    var purchase: String { kind == .nonRenewing ? id : originalID }
}

extension Evidence {
    /// The newest verdicts. A purchase that gives the customer an entitlement counts as the
    /// customer's own.
    fileprivate var verdicts: [String: Verdict] {
        guard let server else { return keptVerdicts }
        var named: [String: Verdict] = [:]
        for right in server.rights.values where right.isActive {
            if let original = right.originalTransactionID { named[original] = .theirs }
        }
        return keptVerdicts.merging(named) { $1 }.merging(server.verdicts) { $1 }
    }

    /// Whether a purchase counts for the customer. Without a verdict, the purchase counts for the
    /// customer for whom this device first saw it. If that customer was anonymous, the purchase
    /// counts for everybody.
    fileprivate func isTheirs(_ documents: [StoreTransaction], by verdict: Verdict?) -> Bool {
        switch verdict {
        case .theirs, .anonymous: true
        case .anotherPerson: false
        case nil: documents.allSatisfy { $0.firstSeenFor == nil || $0.firstSeenFor == person }
        }
    }
}

extension Evidence {
    /// The time until which a purchase may give an entitlement although no evidence says so. Nil if
    /// the purchase's product is known, or if the purchase gives no access any more, whatever its
    /// product.
    ///
    /// Evidence that is not trusted also counts here. Such evidence gives no access, but it keeps
    /// an entitlement from being reported as shut.
    ///
    /// - Parameter documents: all documents of one purchase, sorted by time of purchase.
    fileprivate func undecidedEnd(of documents: [StoreTransaction]) -> StorePurchase.End? {
        let original = documents[0].originalID
        let asOf = server.flatMap { $0.knows(original) ? $0.asOf : nil }
        let isListed = documents[0].kind == .nonRenewing || !store.absent.contains(original)
        let status = store.statuses[original].flatMap { $0.counts(beside: asOf) ? $0 : nil }
        let purchase = StorePurchase(
            id: original, all: documents,
            counting: documents.filter { $0.counts(beside: asOf) && isUnexplained($0) },
            status: status, isAbsent: !isListed)
        guard isListed,
            let last = purchase.counting.filter({ !$0.isUpgraded && !purchase.isRevoked($0) })
                .map({ $0.paidEnd(termEnds) ?? .never }).max()
        else { return nil }
        guard let end = last.time, documents[0].kind == .renewing else { return last }
        return max(last, lapseEnd(after: end, status))
    }

    /// Whether the entitlements that a document gives are unknown.
    private func isUnexplained(_ document: StoreTransaction) -> Bool {
        isStoreAlone ? meanings[document.productID] == nil : !areMeaningsCurrent
    }

    /// The time until which a subscription may be open after its last known end.
    private func lapseEnd(after end: Timestamp, _ status: StoreStatus?) -> StorePurchase.End {
        if let status, status.isReliable,
            status.saidAt >= end.adding(-EndedPeriod.collectedAheadMax)
        {
            if status.state == .grace { return .at(status.graceUntil ?? end) }
            if status.state != .subscribed { return .at(end) }
        }
        let hold = hold(since: end)
        return hold.isSilent ? .never : .at(end.adding(hold.milliseconds))
    }
}

extension ServerEvidence {
    /// Whether the server knew, when it gave this evidence, that the purchase belonged to the
    /// customer.
    fileprivate func knows(_ purchase: String) -> Bool {
        verdicts[purchase] == .theirs
            || rights.values.contains { $0.isActive && $0.originalTransactionID == purchase }
    }
}
