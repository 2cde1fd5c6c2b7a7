import Ledger

/// The facts that documents attest.
package struct FactRows: RowGroup {
    package let tx: DatabaseSession

    /// Inserts facts with the documents that attest them. Existing facts are unchanged.
    package func insert(_ attested: [DocumentWithFacts]) throws(StorageFailure) {
        try insert(attested, into: "facts")
    }

    /// The id of the first document that attests a purchase. Returns nil if no document attests the
    /// purchase.
    package func firstDocument(
        about purchase: PurchaseID, in app: AppID
    ) throws(StorageFailure) -> [UInt8]? {
        try connection.firstRow(
            "SELECT document FROM facts WHERE app = $1 AND environment = $2 AND purchase = $3 "
                + "ORDER BY attested_at_ms, subject, document LIMIT 1",
            PurchaseRows.key(of: purchase, in: app)
        ) { row throws(StorageFailure) in try row.bytes() }
    }

    /// Inserts facts. Returns how many of the facts are new.
    @discardableResult
    func insert(
        _ attested: [DocumentWithFacts], into table: String
    ) throws(StorageFailure) -> Int {
        try connection.runEach(
            "INSERT INTO \(table) (app, environment, purchase, attested_at_ms, subject, document, "
                + "document_signed_at_ms, statement) VALUES ($1, $2, $3, $4, $5, $6, $7, $8) "
                + "ON CONFLICT (app, environment, purchase, attested_at_ms, subject, document) "
                + "DO NOTHING",
            attested.concurrentMap { one in
                one.facts.map { Self.row(of: $0, from: one.document) }
            }.flatMap(\.self)
        ).reduce(0, +)
    }

    private static func row(of fact: Fact, from document: StoredDocument) -> [Value] {
        [
            .text(document.app.rawValue), .text(fact.purchase.environment.rawValue),
            .text(fact.purchase.original.rawValue), .integer(fact.attestedAt.milliseconds),
            .text(fact.statement.subject), .bytes(document.id),
            .integer(document.signedAt.milliseconds), .bytes(fact.stored),
        ]
    }

    /// The facts about a purchase, ordered by the time of attestation, each with the document that
    /// attests it.
    package func all(
        about purchase: PurchaseID, in app: AppID
    ) throws(StorageFailure) -> [FactWithSource] {
        try connection.rows(
            "SELECT attested_at_ms, statement, id, kind, source, received_at_ms FROM facts "
                + "JOIN documents ON documents.app = facts.app "
                + "AND documents.signed_at_ms = facts.document_signed_at_ms "
                + "AND documents.id = facts.document WHERE facts.app = $1 "
                + "AND facts.environment = $2 AND purchase = $3 "
                + "ORDER BY attested_at_ms, subject, document",
            PurchaseRows.key(of: purchase, in: app)
        ) { row throws(StorageFailure) in
            FactWithSource(
                fact: try Self.fact(&row, about: purchase), document: try row.bytes(),
                kind: try StoredDocument.Kind.stored(try row.text()),
                source: try StoredDocument.Source.stored(try row.text()),
                receivedAt: try row.instant())
        }
    }

    /// Reads the columns `attested_at_ms` and `statement`.
    static func fact(
        _ row: inout ColumnReader, about purchase: PurchaseID
    ) throws(StorageFailure) -> Fact {
        let attestedAt = try row.instant()
        return try Fact(stored: try row.bytes(), about: purchase, attestedAt: attestedAt)
    }
}

/// A fact, and the document that attests it.
package struct FactWithSource: Hashable, Sendable {
    package var fact: Fact
    /// The id of the document.
    package var document: [UInt8]
    package var kind: StoredDocument.Kind
    package var source: StoredDocument.Source
    package var receivedAt: Instant
}
