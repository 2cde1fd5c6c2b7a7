import Ledger

/// The functions that protect the hashes of erased ids with a key. The caller passes them, because
/// this module contains no cryptography.
package struct ErasureKeying: Sendable {
    /// The HMAC-SHA256 of a plain hash under a key.
    package var code: @Sendable (_ hash: [UInt8], _ key: [UInt8]) -> [UInt8]
    /// Returns 32 random bytes.
    package var freshKey: @Sendable () -> [UInt8]

    package init(
        code: @escaping @Sendable (_ hash: [UInt8], _ key: [UInt8]) -> [UInt8],
        freshKey: @escaping @Sendable () -> [UInt8]
    ) {
        self.code = code
        self.freshKey = freshKey
    }

    /// Functions that leave hashes unchanged, for databases that never erase customers.
    package static let none = ErasureKeying(
        code: { hash, _ in hash }, freshKey: { Array(repeating: 0, count: 32) })
}

/// Hashes of the ids of erased customers, and their pseudonyms.
package struct ErasedIDRows: RowGroup {
    package let tx: DatabaseSession
}

// An erased id is stored as the HMAC-SHA256 of its plain hash under a key of the app, which is in
// `secrets`. So `erasures` alone does not reveal whether a person with a guessable id was erased.
extension ErasedIDRows {
    private static let erasureKeyName = "erasures"

    /// Returns whether the id with this plain hash belonged to an erased customer.
    package func contains(_ hash: [UInt8], in app: AppID) throws(StorageFailure) -> Bool {
        let values = try erasureValues(of: [hash], in: app)
        return try !connection.rows(Self.selectErasure, values[0]).isEmpty
    }

    /// Returns whether an erased customer had the token as an id.
    package func contains(token: String, in app: AppID) throws(StorageFailure) -> Bool {
        try contains(rules.erasedHash(CustomerID(rawValue: token)), in: app)
    }

    /// Whether a customer was erased at or after a time.
    package func exist(since time: Instant, in app: AppID) throws(StorageFailure) -> Bool {
        try connection.firstRow(
            "SELECT 1 FROM erasures WHERE app = $1 AND erased_at_ms >= $2 LIMIT 1",
            [.text(app.rawValue), .integer(time.milliseconds)]
        ) { row throws(StorageFailure) in try row.integer() } != nil
    }

    func erasedTokens(
        among tokens: Set<String>, in app: AppID
    ) throws(StorageFailure) -> Set<String> {
        let tokens = tokens.sorted()
        let hashes = tokens.map { rules.erasedHash(CustomerID(rawValue: $0)) }
        let found = try connection.rowsEach(
            Self.selectErasure, try erasureValues(of: hashes, in: app))
        var erased: Set<String> = []
        for (token, rows) in zip(tokens, found) where !rows.isEmpty { erased.insert(token) }
        return erased
    }

    /// The app's key, which no other database has. Nil if no server has started on this database.
    package func storedKey(of app: AppID) throws(StorageFailure) -> [UInt8]? {
        try tx.secrets.find(Self.erasureKeyName, of: app)
    }

    static let selectErasure =
        "SELECT erased_at_ms FROM erasures WHERE app = $1 AND id_hash = $2"

    /// The parameters of the statement that looks up or inserts erasures, for each plain hash: the
    /// app, and the hash's HMAC.
    private func erasureValues(
        of hashes: [[UInt8]], in app: AppID
    ) throws(StorageFailure) -> [[Value]] {
        let key = try tx.secrets.find(Self.erasureKeyName, of: app)
        return hashes.map { hash in
            let code = key.map { rules.erasureKeying.code(hash, $0) } ?? hash
            return [.text(app.rawValue), .bytes(code)]
        }
    }

    // MARK: - Writing

    /// Records the erasure of the ids with these plain hashes. Idempotent.
    package func record(
        _ hashes: [[UInt8]], in app: AppID, at now: Instant
    ) throws(StorageFailure) {
        let key = try key(of: app, at: now)
        try record(codes: hashes.map { rules.erasureKeying.code($0, key) }, in: app, at: now)
    }

    /// Records erasures by the HMACs of the ids, in the form in which this table contains them. If
    /// an id was erased before, the later time stays. Idempotent.
    package func record(
        codes: [[UInt8]], in app: AppID, at erasedAt: Instant
    ) throws(StorageFailure) {
        try connection.runEach(
            "INSERT INTO erasures (app, id_hash, erased_at_ms) VALUES ($1, $2, $3) "
                + "ON CONFLICT (app, id_hash) DO UPDATE SET erased_at_ms = excluded.erased_at_ms "
                + "WHERE erasures.erased_at_ms < excluded.erased_at_ms",
            codes.map { [.text(app.rawValue), .bytes($0), .integer(erasedAt.milliseconds)] })
    }

    /// The app's key for the HMACs of ids, both in this table and in the list outside of the
    /// database. The key is created when it is first needed. A server needs it at its start, so
    /// every backup contains the key.
    @discardableResult
    package func key(of app: AppID, at now: Instant) throws(StorageFailure) -> [UInt8] {
        if let known = try tx.secrets.find(Self.erasureKeyName, of: app) { return known }
        let fresh = rules.erasureKeying.freshKey()
        try tx.secrets.add(fresh, Self.erasureKeyName, of: app, at: now)
        return fresh
    }
}
