import Ledger
import Synchronization

/// For each app, the signing time until which documents may be stored under their former id: the
/// SHA-256 of the whole document, whereas newer ids are the SHA-256 of the signed content.
///
/// A document that is posted again must be found under its stored id, or it would be stored twice.
/// Only documents signed before the upgrade can have a former id, so later ones are not looked up.
final class FormerIDs: Sendable {
    /// An older server may keep writing to the same database for a while after the upgrade.
    static let margin = Duration.days(1)

    private let signedUntil = Mutex<[AppID: Instant]?>(nil)

    /// The table never changes after the upgrade, so it is read once.
    fileprivate func lastSigningTime(of app: AppID, _ tx: DatabaseSession) throws(StorageFailure)
        -> Instant?
    {
        if let known = signedUntil.withLock({ $0 }) { return known[app] }
        var read: [AppID: Instant] = [:]
        for row in try tx.connection.rows("SELECT app, signed_until_ms FROM former_ids", []) {
            let end = Instant(milliseconds: try row.integer(1))
            read[AppID(rawValue: try row.text(0))] = end + Self.margin
        }
        let found = read
        signedUntil.withLock { $0 = found }
        return found[app]
    }
}

extension DatabaseSession {
    /// Returns the documents with the id under which each is stored: see ``FormerIDs``.
    func withStoredIDs(_ attested: [DocumentWithFacts]) throws(StorageFailure)
        -> [DocumentWithFacts]
    {
        var places: [Int] = []
        for (place, one) in attested.enumerated() {
            guard let former = one.document.formerID, former != one.document.id,
                let end = try rules.formerIDs.lastSigningTime(of: one.document.app, self),
                one.document.signedAt <= end
            else { continue }
            places.append(place)
        }
        guard !places.isEmpty else { return attested }
        let found = try connection.rowsEach(
            "SELECT 1 FROM documents WHERE app = $1 AND signed_at_ms = $2 AND id = $3",
            places.map { Self.key(of: attested[$0].document, id: attested[$0].document.formerID) })
        var known = attested
        for (place, rows) in zip(places, found) where !rows.isEmpty {
            if let former = attested[place].document.formerID { known[place].document.id = former }
        }
        return known
    }

    /// The id under which a document is stored.
    package func storedID(of document: StoredDocument) throws(StorageFailure) -> [UInt8] {
        try withStoredIDs([DocumentWithFacts(document, [])])[0].document.id
    }

    /// For each document, returns whether it is stored, under either of its ids.
    ///
    /// - Parameter ids: the id of the signed content, the signing time, and the former id.
    package func areStored(
        _ ids: [(signedAt: Instant, id: [UInt8], formerID: [UInt8])], of app: AppID
    ) throws(StorageFailure) -> [Bool] {
        let rows = try connection.rowsEach(
            "SELECT 1 FROM documents WHERE app = $1 AND signed_at_ms = $2 AND id IN ($3, $4)",
            ids.map {
                [
                    .text(app.rawValue), .integer($0.signedAt.milliseconds), .bytes($0.id),
                    .bytes($0.formerID),
                ]
            })
        return rows.map { !$0.isEmpty }
    }

    private static func key(of document: StoredDocument, id: [UInt8]?) -> [Value] {
        [
            .text(document.app.rawValue), .integer(document.signedAt.milliseconds),
            .bytes(id ?? document.id),
        ]
    }
}
