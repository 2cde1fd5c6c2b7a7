internal import PerennialContract

/// The evidence, with the store's documents sorted into purchases, and each purchase's owner.
struct StoreEvidence {
    let evidence: Evidence
    /// By purchase: the original transaction id, or a term's own. Sorted by time of purchase.
    let purchases: [(id: String, documents: [StoreTransaction])]
    /// Purchases whose documents count for this customer.
    private let owned: Set<String>
    /// Whether the store's words alone make every right known.
    let isKnown: Bool

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
        let statuses = evidence.store.statuses.keys.filter {
            byOriginal[$0] == nil && verdicts[$0] != .anotherPerson
        }
        // What is used up says nothing about rights.
        let isAnyOwned = all.contains {
            $0.kind != .consumable && owned.contains($0.originalID)
        }
        isKnown = evidence.store.isTrusted && (isAnyOwned || !statuses.isEmpty)
    }

    /// Whether the documents of a purchase count for this customer.
    func isOwned(_ original: String) -> Bool { owned.contains(original) }

    func verdict(on original: String) -> Verdict? { evidence.verdicts[original] }

    private static func precedes(_ one: StoreTransaction, _ other: StoreTransaction) -> Bool {
        (one.purchasedAt, one.id) < (other.purchasedAt, other.id)
    }
}

extension StoreTransaction {
    /// The purchase that it belongs to. Each term is a purchase of its own.
    var purchase: String { kind == .nonRenewing ? id : originalID }
}

extension Evidence {
    /// The newest verdicts. What gives the customer a right is theirs.
    fileprivate var verdicts: [String: Verdict] {
        guard let server else { return keptVerdicts }
        var named: [String: Verdict] = [:]
        for right in server.rights.values where right.isActive {
            if let original = right.originalTransactionID { named[original] = .theirs }
        }
        return keptVerdicts.merging(named) { $1 }.merging(server.verdicts) { $1 }
    }

    /// Without a verdict, a purchase counts for the customer for whom this device first saw it, and
    /// for everybody if that customer was anonymous.
    fileprivate func isTheirs(_ documents: [StoreTransaction], by verdict: Verdict?) -> Bool {
        switch verdict {
        case .theirs, .anonymous: true
        case .anotherPerson: false
        case nil: documents.allSatisfy { $0.firstSeenFor == nil || $0.firstSeenFor == person }
        }
    }
}
