import Ledger

/// What a group of documents makes of one purchase: all that is known together at that place, in
/// the transaction that writes it.
struct Fold {
    var app: AppID
    /// As it stands; empty where the purchase is new.
    var before: Timeline
    var after: Timeline
    /// The documents that attest something of it, each with the facts about it, in the order in
    /// which they are kept. When each came is its ``StoredDocument/receivedAt``.
    var attested: [AttestedDocument]
    /// How asking about it went.
    var history: CheckHistory
    /// When it is to be asked about, as it stands; nil where the purchase is new.
    var dueBefore: Instant?

    fileprivate func row(_ rules: CheckRules) -> [Value]? {
        let due = after.nextCheck(history, rules: rules)
        guard due != dueBefore || after != before else { return nil }
        return StoreTransaction.row(of: after, in: app, due: due, knownAt: history.knownAt)
    }
}

extension StoreTransaction {
    /// Adds facts with the documents that attest them, and folds them into the purchases that they
    /// are about. A fact that is there already is left as it is. Harmless to repeat.
    ///
    /// Whatever else follows from what becomes of a purchase is written here too: each ``Fold``
    /// knows its timeline before and after, and the documents between the two.
    func add(_ attested: [AttestedDocument]) throws(StorageFailure) {
        try insert(attested, into: "facts")
        let folds = try folds(of: attested)
        try put(folds.compactMap { $0.row(checkRules) })
    }

    package func add(_ facts: [Fact], from document: StoredDocument) throws(StorageFailure) {
        try add([AttestedDocument(document, facts)])
    }

    /// In the order of their keys, so that two servers never wait for each other.
    private func folds(of attested: [AttestedDocument]) throws(StorageFailure) -> [Fold] {
        let groups = Self.byPurchase(attested)
        let stored = try connection.rowsEach(
            Self.selectFolded, groups.map { Self.key(of: $0.purchase, in: $0.app) })
        var folds: [Fold] = []
        folds.reserveCapacity(groups.count)
        for (group, rows) in zip(groups, stored) {
            folds.append(try Self.fold(group, stored: rows.first))
        }
        return folds
    }

    private static func byPurchase(_ attested: [AttestedDocument]) -> [AttestedGroup] {
        var parts: [AttestedGroup] = []
        parts.reserveCapacity(attested.count)
        for one in attested {
            var rest = one
            // Nearly always a document is about one purchase, and passes as it is.
            while let purchase = rest.facts.first?.purchase {
                var part = rest
                if rest.facts.contains(where: { $0.purchase != purchase }) {
                    part.facts.removeAll { $0.purchase != purchase }
                    rest.facts.removeAll { $0.purchase == purchase }
                } else {
                    rest.facts = []
                }
                parts.append(
                    AttestedGroup(app: one.document.app, purchase: purchase, attested: [part]))
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

    private static let selectFolded =
        "SELECT \(historyColumns), timeline FROM purchases "
        + "WHERE app = $1 AND environment = $2 AND purchase = $3"

    private static func fold(
        _ group: AttestedGroup, stored row: Row?
    ) throws(StorageFailure) -> Fold {
        let before: Timeline
        let history: CheckHistory
        if let row {
            before = try Timeline(stored: try row.bytes(6), of: group.purchase)
            history = try Self.history(row)
        } else {
            before = Timeline(of: group.purchase, [])
            history = CheckHistory(
                knownAt: group.attested.first?.document.receivedAt ?? Instant(milliseconds: 0))
        }
        return Fold(
            app: group.app, before: before,
            after: before.adding(group.attested.lazy.flatMap(\.facts)),
            attested: group.attested, history: history,
            dueBefore: try row.map { (row) throws(StorageFailure) in
                Instant(milliseconds: try row.integer(0))
            })
    }

    // MARK: - Rows

    /// Writes a timeline in the place of what is stored for its purchase, whatever that is, and
    /// when the purchase is due by it. How asking about it went stays.
    func replace(
        _ timeline: Timeline, in app: AppID, heardAt: Instant
    ) throws(StorageFailure) {
        let known = try checkHistory(of: timeline.purchase, in: app)?.history
        let history = known ?? CheckHistory(knownAt: heardAt)
        let due = timeline.nextCheck(history, rules: checkRules)
        try put([Self.row(of: timeline, in: app, due: due, knownAt: history.knownAt)])
    }

    fileprivate static func row(
        of timeline: Timeline, in app: AppID, due: Instant, knownAt: Instant
    ) -> [Value] {
        key(of: timeline.purchase, in: app) + [
            .text(timeline.accountToken), .bytes(timeline.stored), .integer(due.milliseconds),
            .integer(knownAt.milliseconds),
        ]
    }

    private func put(_ rows: [[Value]]) throws(StorageFailure) {
        try connection.runEach(
            "INSERT INTO purchases (app, environment, purchase, account_token, timeline, "
                + "due_at_ms, known_at_ms, failures, lease_until_ms) "
                + "VALUES ($1, $2, $3, $4, $5, $6, $7, 0, 0) "
                + "ON CONFLICT (app, environment, purchase) "
                + "DO UPDATE SET account_token = excluded.account_token, "
                + "timeline = excluded.timeline, due_at_ms = excluded.due_at_ms",
            rows)
    }
}

/// The documents that attest something of one purchase, with the facts about it.
private struct AttestedGroup {
    var app: AppID
    var purchase: PurchaseID
    var attested: [AttestedDocument]

    func isSame(as other: Self) -> Bool { purchase == other.purchase && app == other.app }

    func precedes(_ other: Self) -> Bool {
        app == other.app ? purchase < other.purchase : app < other.app
    }
}
