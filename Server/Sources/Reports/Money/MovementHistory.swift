import Ledger

/// The movements of one purchase as they were known at any moment. If a movement turns out to be
/// different, the old version is not changed: it is marked as known until that moment, and a new
/// version replaces it.
package struct MovementHistory: Hashable, Sendable {
    /// A movement, and the time for which it was known.
    package struct Version: Hashable, Sendable {
        package var movement: Movement
        package var knownAt: Instant
        /// When the movement turned out to be different. Nil if this version is still the known
        /// one.
        package var replacedAt: Instant?

        package init(_ movement: Movement, knownAt: Instant, replacedAt: Instant? = nil) {
            self.movement = movement
            self.knownAt = knownAt
            self.replacedAt = replacedAt
        }
    }

    /// The changes that one document makes.
    package struct Change: Hashable, Sendable {
        /// When the changes became known.
        package var at: Instant
        /// Known versions that are no longer correct. Versions that became known at ``at`` itself
        /// are deleted, because they were known for no time. The other versions are marked as
        /// replaced.
        package var replaced: [Version]
        /// Versions that were marked as replaced at ``at``, and that are correct again.
        package var restored: [Version]
        package var added: [Movement]

        package var isEmpty: Bool { replaced.isEmpty && restored.isEmpty && added.isEmpty }

        /// The difference between the known movements and the movements that follow from all
        /// documents now.
        ///
        /// - Parameter history: everything that was known before.
        package init(from history: MovementHistory, to movements: [Movement], at now: Instant) {
            at = now
            let known = history.known
            let wanted = Set(movements)
            let present = Set(known.map(\.movement))
            let missing = movements.filter { !present.contains($0) }
            replaced = known.filter { !wanted.contains($0.movement) }
            restored = history.versions.filter {
                $0.replacedAt == now && missing.contains($0.movement)
            }
            let again = Set(restored.map(\.movement))
            added = missing.filter { !again.contains($0) }
        }
    }

    package private(set) var versions: [Version] = []

    package init() {}

    /// - Parameter versions: the stored versions.
    package init(versions: [Version]) { self.versions = versions }

    /// - Parameter documents: the facts of each document about the purchase, with the moment when
    ///   the document was received, in the order in which they were received.
    package init(
        of purchase: PurchaseID, _ documents: [(receivedAt: Instant, facts: [Fact])],
        rules: MoneyRules
    ) {
        var timeline = Timeline(of: purchase, [])
        var renewals: [Timeline.Attested<Renewal>] = []
        var payments: [AttestedPayment] = []
        for (index, document) in documents.enumerated() {
            timeline = timeline.adding(document.facts)
            renewals += document.facts.compactMap(\.attestedRenewal)
            payments += document.facts.compactMap(AttestedPayment.init)
            let next = index + 1 < documents.count ? documents[index + 1] : nil
            guard next?.receivedAt != document.receivedAt else { continue }
            let books = PurchaseBooks(of: timeline, renewals, payments, rules: rules)
            apply(Change(from: self, to: books.movements, at: document.receivedAt))
        }
    }

    /// What is known now.
    package var known: [Version] { versions.filter { $0.replacedAt == nil } }

    /// The last moment at which something became known.
    package var lastChange: Instant? {
        versions.flatMap { [$0.knownAt] + [$0.replacedAt].compactMap(\.self) }.max()
    }

    package mutating func apply(_ change: Change) {
        let replaced = Set(change.replaced)
        let restored = Set(change.restored)
        versions = versions.compactMap { version in
            if restored.contains(version) {
                return Version(version.movement, knownAt: version.knownAt)
            }
            guard replaced.contains(version) else { return version }
            guard version.knownAt < change.at else { return nil }
            return Version(
                version.movement, knownAt: version.knownAt, replacedAt: change.at)
        }
        versions += change.added.map { Version($0, knownAt: change.at) }
    }
}

extension PurchaseBooks {
    /// - Parameter facts: all facts about the purchase.
    package init(of purchase: PurchaseID, _ facts: [Fact], rules: MoneyRules) {
        self.init(
            of: Timeline(of: purchase, facts), facts.compactMap(\.attestedRenewal),
            facts.compactMap(AttestedPayment.init), rules: rules)
    }
}

extension Fact {
    /// The document's statement about the renewal, if there is one.
    fileprivate var attestedRenewal: Timeline.Attested<Renewal>? {
        guard case .renewal(let renewal) = statement else { return nil }
        return Timeline.Attested(renewal, at: attestedAt)
    }
}
