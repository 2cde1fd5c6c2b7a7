import Ledger

extension StoreTransaction {
    /// Adds facts with the documents that attest them, and folds them into the purchases that they
    /// are about. A fact that is there already is left as it is. Harmless to repeat.
    func add(_ attested: [AttestedDocument]) throws(StorageFailure) {
        try insert(attested, into: "facts")
        var facts: [PurchaseInApp: [Fact]] = [:]
        var heardAt: [PurchaseInApp: Instant] = [:]
        for one in attested {
            for fact in one.facts {
                let key = PurchaseInApp(app: one.document.app, purchase: fact.purchase)
                facts[key, default: []].append(fact)
                heardAt[key] = heardAt[key] ?? one.document.receivedAt
            }
        }
        let purchases = facts.keys.sorted()
        let known = try timelines(of: purchases)
        let timelines = zip(purchases, known).map { (key, timeline) in
            (key.app, timeline.adding(facts[key] ?? []))
        }
        try put(timelines)
        try schedule(
            zip(purchases, timelines).map { key, pair in
                (pair.0, pair.1, heardAt[key] ?? Instant(milliseconds: 0))
            })
    }

    package func add(_ facts: [Fact], from document: StoredDocument) throws(StorageFailure) {
        try add([AttestedDocument(document, facts)])
    }

    func insert(_ attested: [AttestedDocument], into table: String) throws(StorageFailure) {
        try connection.runEach(
            "INSERT INTO \(table) (app, environment, purchase, attested_at_ms, subject, document, "
                + "document_signed_at_ms, statement) VALUES ($1, $2, $3, $4, $5, $6, $7, $8) "
                + "ON CONFLICT (app, environment, purchase, attested_at_ms, subject, document) "
                + "DO NOTHING",
            attested.flatMap { one in one.facts.map { Self.row(of: $0, from: one.document) } })
    }

    private static func row(of fact: Fact, from document: StoredDocument) -> [Value] {
        [
            .text(document.app.rawValue), .text(fact.purchase.environment.rawValue),
            .text(fact.purchase.original.rawValue), .integer(fact.attestedAt.milliseconds),
            .text(fact.statement.subject), .bytes(document.id),
            .integer(document.signedAt.milliseconds), .bytes(fact.stored),
        ]
    }

    /// Writes timelines in the place of what is stored for their purchases.
    func put(_ timelines: [(app: AppID, timeline: Timeline)]) throws(StorageFailure) {
        try connection.runEach(
            "INSERT INTO purchases (app, environment, purchase, account_token, timeline) "
                + "VALUES ($1, $2, $3, $4, $5) ON CONFLICT (app, environment, purchase) "
                + "DO UPDATE SET account_token = excluded.account_token, "
                + "timeline = excluded.timeline",
            timelines.map { app, timeline in
                [
                    .text(app.rawValue), .text(timeline.purchase.environment.rawValue),
                    .text(timeline.purchase.original.rawValue), .text(timeline.accountToken),
                    .bytes(timeline.stored),
                ]
            })
    }

    /// For each purchase what is stored of it, or an empty timeline.
    private func timelines(of purchases: [PurchaseInApp]) throws(StorageFailure) -> [Timeline] {
        let answers = try connection.rowsEach(
            Self.selectTimeline, purchases.map { Self.key(of: $0.purchase, in: $0.app) })
        var timelines: [Timeline] = []
        timelines.reserveCapacity(purchases.count)
        for (key, rows) in zip(purchases, answers) {
            if let row = rows.first {
                timelines.append(try Timeline(stored: try row.bytes(0), of: key.purchase))
            } else {
                timelines.append(Timeline(of: key.purchase, []))
            }
        }
        return timelines
    }

    private static let selectTimeline =
        "SELECT timeline FROM purchases WHERE app = $1 AND environment = $2 AND purchase = $3"

    package func timeline(
        of purchase: PurchaseID, in app: AppID
    ) throws(StorageFailure) -> Timeline? {
        let rows = try connection.rows(Self.selectTimeline, Self.key(of: purchase, in: app))
        guard let row = rows.first else { return nil }
        return try Timeline(stored: try row.bytes(0), of: purchase)
    }

    /// The facts about a purchase, in the order of attesting, each with the document that attests
    /// it.
    package func facts(
        about purchase: PurchaseID, in app: AppID
    ) throws(StorageFailure) -> [FactWithSource] {
        let rows = try connection.rows(
            "SELECT attested_at_ms, statement, id, kind, source, received_at_ms FROM facts "
                + "JOIN documents ON documents.app = facts.app "
                + "AND documents.signed_at_ms = facts.document_signed_at_ms "
                + "AND documents.id = facts.document WHERE facts.app = $1 "
                + "AND facts.environment = $2 AND purchase = $3 "
                + "ORDER BY attested_at_ms, subject, document",
            Self.key(of: purchase, in: app))
        var facts: [FactWithSource] = []
        for row in rows {
            facts.append(
                FactWithSource(
                    fact: try Self.fact(row, about: purchase), document: try row.bytes(2),
                    kind: try row.text(3), source: try row.text(4),
                    receivedAt: Instant(milliseconds: try row.integer(5))))
        }
        return facts
    }

    static func key(of purchase: PurchaseID, in app: AppID) -> [Value] {
        [
            .text(app.rawValue), .text(purchase.environment.rawValue),
            .text(purchase.original.rawValue),
        ]
    }

    /// A fact of a row that begins with when it was attested, and the statement.
    static func fact(_ row: Row, about purchase: PurchaseID) throws(StorageFailure) -> Fact {
        try Fact(
            stored: try row.bytes(1), about: purchase,
            attestedAt: Instant(milliseconds: try row.integer(0)))
    }
}

/// A fact, and where we have it from.
package struct FactWithSource: Hashable, Sendable {
    package var fact: Fact
    /// The document's id.
    package var document: [UInt8]
    package var kind: String
    package var source: String
    package var receivedAt: Instant
}

/// A purchase among those of all apps.
private struct PurchaseInApp: Hashable, Comparable {
    var app: AppID
    var purchase: PurchaseID

    static func < (one: Self, other: Self) -> Bool {
        one.app == other.app ? one.purchase < other.purchase : one.app.rawValue < other.app.rawValue
    }
}
