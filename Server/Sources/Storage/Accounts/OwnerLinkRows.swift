import Ledger

/// A link that works once, for somebody who cannot sign in yet.
package struct OwnerLink: Hashable, Sendable {
    package enum Kind: String, Hashable, Sendable, CaseIterable {
        /// Makes the first account, while there is none.
        case first
        /// Makes another account.
        case invitation
        /// Sets another password.
        case reset
    }

    /// The SHA-256 of its token, 32 bytes.
    package var hash: [UInt8]
    package var kind: Kind
    /// The account it is for. Nil if the name is chosen with the link.
    package var owner: String?
    /// The roles of an account that it makes.
    package var roles: OwnerRoles
    /// Who has made it.
    package var author: String
    package var createdAt: Instant
    package var until: Instant

    package init(
        hash: [UInt8], kind: Kind, owner: String?, roles: OwnerRoles, author: String,
        createdAt: Instant, until: Instant
    ) {
        self.hash = hash
        self.kind = kind
        self.owner = owner
        self.roles = roles
        self.author = author
        self.createdAt = createdAt
        self.until = until
    }
}

extension DatabaseSession {
    private static let linkColumns =
        "link, kind, owner, roles, author, created_at_ms, until_ms"

    /// Adds a link. Idempotent.
    package func add(_ link: OwnerLink) throws(StorageFailure) {
        try connection.run(
            "INSERT INTO owner_links (app, \(Self.linkColumns)) "
                + "VALUES ('', $1, $2, $3, $4, $5, $6, $7) ON CONFLICT (app, link) DO NOTHING",
            [
                .bytes(link.hash), .text(link.kind.rawValue), .text(link.owner),
                .text(link.roles.description), .text(link.author),
                .integer(link.createdAt.milliseconds), .integer(link.until.milliseconds),
            ])
    }

    /// Looks up a link by the SHA-256 of its token, also one that has ended.
    package func ownerLink(hash: [UInt8]) throws(StorageFailure) -> OwnerLink? {
        try ownerLinks("link = $1", [.bytes(hash)]).first
    }

    /// The links that have not been used, the newest first.
    package func ownerLinks() throws(StorageFailure) -> [OwnerLink] {
        try ownerLinks("link <> $1", [.bytes([])])
    }

    /// Deletes a link, so that it does not work again. Returns false if there was none.
    package func deleteOwnerLink(hash: [UInt8]) throws(StorageFailure) -> Bool {
        try connection.run(
            "DELETE FROM owner_links WHERE app = '' AND link = $1", [.bytes(hash)]) == 1
    }

    /// Deletes the links of a kind; those for one account, if it is named. Returns how many there
    /// were. Idempotent.
    @discardableResult
    package func deleteOwnerLinks(
        _ kind: OwnerLink.Kind, for owner: String? = nil
    ) throws(StorageFailure) -> Int {
        try connection.run(
            "DELETE FROM owner_links WHERE app = '' AND kind = $1 "
                + "AND coalesce(owner, '') = $2",
            [.text(kind.rawValue), .text(owner ?? "")])
    }

    /// Deletes the links that an owner has made. Returns how many there were. Idempotent.
    @discardableResult
    package func deleteOwnerLinks(by author: String) throws(StorageFailure) -> Int {
        try connection.run(
            "DELETE FROM owner_links WHERE app = '' AND author = $1", [.text(author)])
    }

    /// Deletes the links that have ended. Idempotent.
    package func deleteEndedOwnerLinks(at now: Instant) throws(StorageFailure) {
        try connection.run(
            "DELETE FROM owner_links WHERE app = '' AND until_ms <= $1",
            [.integer(now.milliseconds)])
    }

    private func ownerLinks(
        _ condition: String, _ values: [Value]
    ) throws(StorageFailure) -> [OwnerLink] {
        let rows = try connection.rows(
            "SELECT \(Self.linkColumns) FROM owner_links WHERE app = '' AND \(condition) "
                + "ORDER BY created_at_ms DESC, link", values)
        return try rows.map { row throws(StorageFailure) in
            guard let kind = OwnerLink.Kind(rawValue: try row.text(1)),
                let roles = OwnerRoles(try row.text(3))
            else { throw StorageFailure("unknown link: use a newer version of Perennial") }
            return OwnerLink(
                hash: try row.bytes(0), kind: kind, owner: try row.optionalText(2), roles: roles,
                author: try row.text(4), createdAt: Instant(milliseconds: try row.integer(5)),
                until: Instant(milliseconds: try row.integer(6)))
        }
    }
}
