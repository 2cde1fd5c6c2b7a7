import Ledger

/// The description of a document in a list: everything but its bytes.
package struct DocumentHead: Hashable, Sendable {
    package var id: [UInt8]
    package var kind: StoredDocument.Kind
    package var environment: Environment
    package var source: StoredDocument.Source
    package var signedAt: Instant
    package var receivedAt: Instant

    package init(
        id: [UInt8], kind: StoredDocument.Kind, environment: Environment,
        source: StoredDocument.Source, signedAt: Instant, receivedAt: Instant
    ) {
        self.id = id
        self.kind = kind
        self.environment = environment
        self.source = source
        self.signedAt = signedAt
        self.receivedAt = receivedAt
    }
}

/// A position in a list of documents, which is ordered newest first.
package struct DocumentCursor: Hashable, Sendable {
    package var signedAt: Instant
    package var id: [UInt8]

    package init(signedAt: Instant, id: [UInt8]) {
        self.signedAt = signedAt
        self.id = id
    }
}

extension DocumentRows {
    /// The signing time of a document, searched among the documents with facts about a purchase.
    /// Returns nil if there is no such document.
    package func signingTime(
        of id: [UInt8], about purchase: PurchaseID, in app: AppID
    ) throws(StorageFailure) -> Instant? {
        try connection.firstRow(
            "SELECT document_signed_at_ms FROM facts WHERE app = $1 AND environment = $2 "
                + "AND purchase = $3 AND document = $4 LIMIT 1",
            PurchaseRows.key(of: purchase, in: app) + [.bytes(id)]
        ) { row throws(StorageFailure) in
            try row.instant()
        }
    }

    /// The signing time of a document, searched among the documents that were signed within a range
    /// of time. There is no index by id alone, so the range must be short.
    package func signingTime(
        of id: [UInt8], in app: AppID, within range: ClosedRange<Instant>
    ) throws(StorageFailure) -> Instant? {
        try connection.firstRow(
            "SELECT signed_at_ms FROM documents WHERE app = $1 "
                + "AND signed_at_ms BETWEEN $2 AND $3 AND id = $4 LIMIT 1",
            [
                .text(app.rawValue), .integer(range.lowerBound.milliseconds),
                .integer(range.upperBound.milliseconds), .bytes(id),
            ]
        ) { row throws(StorageFailure) in
            try row.instant()
        }
    }

    /// The documents of an app that were signed before a position, the latest signature first.
    package func heads(
        of app: AppID, before place: DocumentCursor?, limit: Int
    ) throws(StorageFailure) -> [DocumentHead] {
        let position = place == nil ? "" : " AND (signed_at_ms, id) < ($2, $3)"
        let values = place.map { [Value.integer($0.signedAt.milliseconds), .bytes($0.id)] } ?? []
        return try connection.rows(
            "SELECT id, kind, environment, source, signed_at_ms, received_at_ms FROM documents "
                + "WHERE app = $1\(position) ORDER BY signed_at_ms DESC, id DESC "
                + "LIMIT $\(values.count + 2)",
            [.text(app.rawValue)] + values + [.integer(Int64(limit))]
        ) { row throws(StorageFailure) in
            DocumentHead(
                id: try row.bytes(), kind: try StoredDocument.Kind.stored(try row.text()),
                environment: try row.environment(),
                source: try StoredDocument.Source.stored(try row.text()),
                signedAt: try row.instant(), receivedAt: try row.instant())
        }
    }
}
