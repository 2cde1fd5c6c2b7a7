import Ledger

/// A document in its stored, packed form, with its origin and times.
package struct StoredDocument: Hashable, Sendable {
    package var app: AppID
    /// The SHA-256 of the signed content and the signer: 32 bytes. So all variants of a document
    /// that differ only in unsigned parts have the same id, whichever arrives first. The id of a
    /// version 1 notification is the SHA-256 of the part that is the same in all of its copies.
    package var id: [UInt8]
    package var kind: Kind
    package var environment: Environment
    package var source: Source
    package var signedAt: Instant
    package var receivedAt: Instant
    package var parts: [UInt8]
    package var headers: [Header]

    package enum Kind: String, Hashable, Sendable {
        case notification
        case transaction
        case renewal
        /// The signed app transaction of a device.
        case appTransaction = "app_transaction"
        case appReceipt = "app_receipt"
        case transactionReceipt = "transaction_receipt"
        /// A version 1 notification, without the shared secret that it contained.
        case notificationV1 = "notification_v1"
        /// A response of verifyReceipt to one of our requests.
        case receiptResponse = "receipt_answer"
        /// Evidence that a subscription is in its grace period. The evidence comes from a response
        /// of the App Store Server API whose signed part does not contain the end of the grace
        /// period.
        case graceResponse = "grace_answer"
    }

    package enum Source: String, Hashable, Sendable {
        case notification
        case device
        /// The App Store's response to one of our requests.
        case reconciliation
        /// A file that the operator imported.
        case imported = "import"
    }

    /// A segment of the document that is stored separately, because many documents share it. Also
    /// contains the SHA-256 of the segment.
    package struct Header: Hashable, Sendable {
        package var digest: [UInt8]
        package var segment: [UInt8]

        package init(digest: [UInt8], segment: [UInt8]) {
            self.digest = digest
            self.segment = segment
        }
    }

    package init(
        app: AppID, id: [UInt8], kind: Kind, environment: Environment, source: Source,
        signedAt: Instant, receivedAt: Instant, parts: [UInt8], headers: [Header]
    ) {
        self.app = app
        self.id = id
        self.kind = kind
        self.environment = environment
        self.source = source
        self.signedAt = signedAt
        self.receivedAt = receivedAt
        self.parts = parts
        self.headers = headers
    }
}

extension StoredDocument.Kind {
    static func stored(_ text: String) throws(StorageFailure) -> Self {
        guard let kind = Self(rawValue: text) else {
            throw StorageFailure("unknown document kind \(text): use a newer version of Perennial")
        }
        return kind
    }
}

extension StoredDocument.Source {
    static func stored(_ text: String) throws(StorageFailure) -> Self {
        guard let source = Self(rawValue: text) else {
            throw StorageFailure(
                "unknown document source \(text): use a newer version of Perennial")
        }
        return source
    }
}

/// The position of an iteration over all documents.
package struct DocumentPosition: Hashable, Sendable {
    var signedAt: Int64
    var id: [UInt8]

    package init(after document: StoredDocument) {
        signedAt = document.signedAt.milliseconds
        id = document.id
    }

    init() { (signedAt, id) = (.min, []) }

    package static let start = DocumentPosition()
}

/// Documents that Apple signed, and the budgets of purchases for new documents.
package struct DocumentRows: RowGroup {
    package let tx: DatabaseSession

    private static let digestBytes = 32

    /// Inserts a document. Returns false, without writing anything, if the document is already
    /// stored.
    package func insert(_ document: StoredDocument) throws(StorageFailure) -> Bool {
        try insert([document])[0]
    }

    /// Inserts documents. For each document, returns false if the document is already stored, or if
    /// it occurs twice in the list.
    package func insert(_ documents: [StoredDocument]) throws(StorageFailure) -> [Bool] {
        try insertHeaders(of: documents)
        let added = try connection.runEach(
            "INSERT INTO documents (app, signed_at_ms, id, kind, environment, source, "
                + "received_at_ms, parts, headers) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) "
                + "ON CONFLICT (app, signed_at_ms, id) DO NOTHING",
            documents.concurrentMap(Self.row))
        return added.map { $0 > 0 }
    }

    /// Inserts the headers that are missing. Most documents of an app share their headers, so these
    /// are usually stored already. A query for the digest costs less than sending the segment,
    /// which is a hundred times as long.
    private func insertHeaders(of documents: [StoredDocument]) throws(StorageFailure) {
        let headers = Self.headers(of: documents)
        let known = try connection.rowsEach(
            "SELECT 1 FROM headers WHERE app = $1 AND digest = $2", headers.map(\.key.values))
        let missing = zip(headers, known).filter { $1.isEmpty }.map(\.0)
        try connection.runEach(
            "INSERT INTO headers (app, digest, segment) VALUES ($1, $2, $3) "
                + "ON CONFLICT (app, digest) DO NOTHING",
            missing.map { $0.key.values + [.bytes($0.segment)] })
    }

    private struct HeaderKey: Hashable {
        var app: AppID
        var digest: [UInt8]

        var values: [Value] { [.text(app.rawValue), .bytes(digest)] }
    }

    /// Returns each header once.
    private static func headers(
        of documents: [StoredDocument]
    ) -> [(key: HeaderKey, segment: [UInt8])] {
        var seen: Set<HeaderKey> = []
        return documents.flatMap { document in
            document.headers.compactMap { header in
                let key = HeaderKey(app: document.app, digest: header.digest)
                return seen.insert(key).inserted ? (key, header.segment) : nil
            }
        }
    }

    private static func row(of document: StoredDocument) -> [Value] {
        [
            .text(document.app.rawValue), .integer(document.signedAt.milliseconds),
            .bytes(document.id), .text(document.kind.rawValue),
            .text(document.environment.rawValue), .text(document.source.rawValue),
            .integer(document.receivedAt.milliseconds), .bytes(document.parts),
            .bytes(document.headers.flatMap(\.digest)),
        ]
    }

    /// For each document, returns whether it is stored.
    package func areStored(
        _ ids: [(signedAt: Instant, id: [UInt8])], of app: AppID
    ) throws(StorageFailure) -> [Bool] {
        let rows = try connection.rowsEach(
            "SELECT 1 FROM documents WHERE app = $1 AND signed_at_ms = $2 AND id = $3",
            ids.map {
                [.text(app.rawValue), .integer($0.signedAt.milliseconds), .bytes($0.id)]
            })
        return rows.map { !$0.isEmpty }
    }

    package func count() throws(StorageFailure) -> Int {
        Int(try connection.number("SELECT count(*) FROM documents"))
    }

    /// The apps that have documents, ordered by name.
    package func apps() throws(StorageFailure) -> [AppID] {
        var apps: [AppID] = []
        // One search for each app. `DISTINCT` would read all rows.
        while let next = try connection.firstText(
            "SELECT min(app) FROM documents WHERE app > $1", [.text(apps.last?.rawValue ?? "")])
        {
            apps.append(AppID(rawValue: next))
        }
        return apps
    }

    /// The next page of all documents of an app, ordered by signing time and id.
    package func all(
        of app: AppID, after position: DocumentPosition, limit: Int
    ) throws(StorageFailure) -> [StoredDocument] {
        var segments: [[UInt8]: [UInt8]] = [:]
        return try connection.rows(
            // The app is compared separately, because PostgreSQL would overestimate the number of
            // rows that a comparison of all three columns at once selects.
            Self.selectDocuments + "WHERE app = $1 AND (signed_at_ms, id) > ($2, $3) "
                + "ORDER BY signed_at_ms, id LIMIT $4",
            [
                .text(app.rawValue), .integer(position.signedAt), .bytes(position.id),
                .integer(Int64(limit)),
            ]
        ) { row throws(StorageFailure) in try document(&row, segments: &segments) }
    }

    /// The latest documents of the given kinds that attest facts about a purchase, newest first.
    package func all(
        about purchase: PurchaseID, in app: AppID, of kinds: [StoredDocument.Kind], limit: Int
    ) throws(StorageFailure) -> [StoredDocument] {
        let names = kinds.map { "'\($0.rawValue)'" }.joined(separator: ", ")
        var segments: [[UInt8]: [UInt8]] = [:]
        return try connection.rows(
            Self.selectDocuments + "WHERE kind IN (\(names)) AND (app, signed_at_ms, id) IN "
                + "(SELECT app, document_signed_at_ms, document FROM facts WHERE app = $1 "
                + "AND environment = $2 AND purchase = $3) "
                + "ORDER BY signed_at_ms DESC, id LIMIT $4",
            PurchaseRows.key(of: purchase, in: app) + [.integer(Int64(limit))]
        ) { row throws(StorageFailure) in try document(&row, segments: &segments) }
    }

    /// A document with its bytes. Returns nil if the document is not stored.
    package func find(
        _ id: [UInt8], signedAt: Instant, of app: AppID
    ) throws(StorageFailure) -> StoredDocument? {
        var segments: [[UInt8]: [UInt8]] = [:]
        return try connection.firstRow(
            Self.selectDocuments + "WHERE app = $1 AND signed_at_ms = $2 AND id = $3",
            [.text(app.rawValue), .integer(signedAt.milliseconds), .bytes(id)]
        ) { row throws(StorageFailure) in try document(&row, segments: &segments) }
    }

    private static let selectDocuments =
        "SELECT app, id, kind, environment, source, signed_at_ms, received_at_ms, parts, headers "
        + "FROM documents "

    private func document(
        _ row: inout ColumnReader, segments: inout [[UInt8]: [UInt8]]
    ) throws(StorageFailure) -> StoredDocument {
        let app = try row.app()
        return StoredDocument(
            app: app, id: try row.bytes(), kind: try StoredDocument.Kind.stored(try row.text()),
            environment: try row.environment(),
            source: try StoredDocument.Source.stored(try row.text()),
            signedAt: try row.instant(), receivedAt: try row.instant(), parts: try row.bytes(),
            headers: try headers(try row.bytes(), of: app, known: &segments))
    }

    /// The segments that a document refers to. Documents share segments, so each segment is read
    /// only once for a batch.
    private func headers(
        _ digests: [UInt8], of app: AppID, known: inout [[UInt8]: [UInt8]]
    ) throws(StorageFailure) -> [StoredDocument.Header] {
        var headers: [StoredDocument.Header] = []
        for start in stride(from: 0, to: digests.count, by: Self.digestBytes) {
            let digest = Array(digests[start..<start + Self.digestBytes])
            let segment: [UInt8]
            if let read = known[digest] {
                segment = read
            } else {
                segment = try self.segment(digest, of: app)
                known[digest] = segment
            }
            headers.append(StoredDocument.Header(digest: digest, segment: segment))
        }
        return headers
    }

    private func segment(_ digest: [UInt8], of app: AppID) throws(StorageFailure) -> [UInt8] {
        let segment = try connection.firstRow(
            "SELECT segment FROM headers WHERE app = $1 AND digest = $2",
            [.text(app.rawValue), .bytes(digest)]
        ) { row throws(StorageFailure) in try row.bytes() }
        guard let segment else {
            throw StorageFailure("a document refers to a header that is not stored")
        }
        return segment
    }

    /// The signing time of the newest document of an app. Returns nil if the app has no documents.
    package func newest(of app: AppID) throws(StorageFailure) -> Instant? {
        try connection.firstNumber(
            "SELECT max(signed_at_ms) FROM documents WHERE app = $1", [.text(app.rawValue)]
        ).map(Instant.init(milliseconds:))
    }
}
