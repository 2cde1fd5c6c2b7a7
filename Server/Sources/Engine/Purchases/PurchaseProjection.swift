import Ledger
import Storage

/// The changes that a group of documents makes to one purchase: the purchase before and after, and
/// everything else that the transaction needs for writing the change.
struct PurchaseProjection: Sendable {
    var app: AppID
    /// The timeline without the documents. Empty if the purchase is new.
    var before: Timeline
    var after: Timeline
    /// The documents that attest something about the purchase, each with the facts about it, in the
    /// order in which they are recorded. Each document was received at its
    /// ``StoredDocument/receivedAt``.
    var attested: [DocumentWithFacts]
    /// The last reported state. At first, this is the state from before all of the documents.
    var reported: ReportedPurchase
    /// The events to append, once they have been determined.
    var entries: [EventEntry] = []
    /// The results of earlier checks with the App Store.
    private let history: CheckHistory
    /// When the next check is due.
    private let dueAt: Instant
    private let isNew: Bool
    /// Whether the row of the purchase changes.
    private let isChanged: Bool

    /// - Parameter known: the purchase as it is stored; nil if the purchase is new.
    init(of group: DocumentGroup, _ known: KnownPurchase?, _ checks: CheckRules) {
        app = group.app
        attested = group.attested
        reported =
            known?.reported
            ?? ReportedPurchase(app: group.app, timeline: Timeline(of: group.purchase, []))
        before = reported.timeline
        after = before.adding(group.attested.flatMap(\.facts))
        history =
            known?.history
            ?? CheckHistory(
                knownAt: group.attested.first?.document.receivedAt ?? Instant(milliseconds: 0))
        dueAt = after.nextCheck(history, rules: checks)
        isNew = known == nil
        isChanged = dueAt != known?.dueAt || after != before
    }

    /// Determines the events for each document that changes something, including events about the
    /// wallets of the customer who has the purchase.
    mutating func emitEvents(_ rules: AccessRules, _ wallet: inout WalletProjection?) {
        for (index, one) in attested.enumerated() {
            let isLast = index == attested.count - 1
            let later = isLast ? after : reported.timeline.adding(one.facts)
            guard later != reported.timeline else { continue }
            let cause = EventEntry.Cause.document(one.document.id)
            entries += PurchaseEvents.apply(
                later, to: &reported, from: cause, at: one.document.receivedAt, rules)
            let telling = WalletProjection.EventContext(
                cause: cause, at: one.document.receivedAt, condition: reported.reportedState?.status
            )
            entries += wallet?.apply(later, of: later.purchase, telling) ?? []
        }
    }

    /// A copy with the events of the projection, for an app without wallets.
    func withEvents(_ rules: AccessRules) -> PurchaseProjection {
        var (projection, noWallet) = (self, WalletProjection?.none)
        projection.emitEvents(rules, &noWallet)
        return projection
    }

    /// Whether the account token, and so the customer it identifies, has changed while the purchase
    /// has no owner.
    var changesTokenOwner: Bool {
        !isNew && reported.customer == nil && before.accountToken != after.accountToken
    }

    /// Whether the purchase pays for a group whose members the app invites, and has changed.
    var changesSeats: Bool { after.hasDeveloperSeats && before != after }

    /// The purchase to be written.
    var change: PurchaseChange {
        PurchaseChange(KnownPurchase(reported, history, dueAt: dueAt), isChanged: isChanged)
    }
}

/// The documents that attest something about one purchase, with the facts about it.
struct DocumentGroup {
    var app: AppID
    var purchase: PurchaseID
    var attested: [DocumentWithFacts]

    /// Groups documents by purchase, ordered by key.
    static func groups(_ attested: [DocumentWithFacts]) -> [DocumentGroup] {
        var parts: [DocumentGroup] = []
        parts.reserveCapacity(attested.count)
        for one in attested {
            guard let purchase = one.facts.first?.purchase else { continue }
            // Nearly all documents are about one purchase only, and are used unchanged.
            guard one.facts.contains(where: { $0.purchase != purchase }) else {
                parts.append(
                    DocumentGroup(app: one.document.app, purchase: purchase, attested: [one]))
                continue
            }
            // The order does not matter, because the groups are sorted by purchase afterwards.
            for (purchase, facts) in Dictionary(grouping: one.facts, by: \.purchase) {
                var part = one
                part.facts = facts
                parts.append(
                    DocumentGroup(app: one.document.app, purchase: purchase, attested: [part]))
            }
        }
        let order = parts.indices.sorted {
            parts[$0].precedes(parts[$1]) || ($0 < $1 && !parts[$1].precedes(parts[$0]))
        }
        return order.reduce(into: []) { groups, index in
            guard let last = groups.last, last.isSame(as: parts[index]) else {
                return groups.append(parts[index])
            }
            groups[groups.count - 1].attested += parts[index].attested
        }
    }

    private func isSame(as other: Self) -> Bool { purchase == other.purchase && app == other.app }

    private func precedes(_ other: Self) -> Bool {
        app == other.app ? purchase < other.purchase : app < other.app
    }
}
