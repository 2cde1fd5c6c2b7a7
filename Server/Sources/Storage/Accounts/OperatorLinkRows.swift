import Ledger

/// A link that works once, for a person who cannot sign in yet.
package struct OperatorLink: Hashable, Sendable {
    package enum Kind: String, Hashable, Sendable, CaseIterable {
        /// Creates the first account. Works only while there is no account.
        case first
        /// Creates another account.
        case invitation
        /// Sets a new password for an account.
        case reset
    }

    /// The SHA-256 of the link's token: 32 bytes.
    package var hash: [UInt8]
    package var kind: Kind
    /// The name of the account that the link is for. Nil if the person who uses the link chooses
    /// the name.
    package var operatorName: String?
    /// The roles of the account that the link creates.
    package var roles: OperatorRoles
    /// The operator who made the link.
    package var author: String
    package var createdAt: Instant
    package var until: Instant

    package init(
        hash: [UInt8], kind: Kind, operatorName: String?, roles: OperatorRoles, author: String,
        createdAt: Instant, until: Instant
    ) {
        self.hash = hash
        self.kind = kind
        self.operatorName = operatorName
        self.roles = roles
        self.author = author
        self.createdAt = createdAt
        self.until = until
    }
}

/// Links that invite operators or let them back into their accounts.
package struct OperatorLinkRows: RowGroup {
    package let tx: DatabaseSession

    private static let linkColumns =
        "link, kind, operator, roles, author, created_at_ms, until_ms"

    /// Adds a link. Idempotent.
    package func add(_ link: OperatorLink) throws(StorageFailure) {
        try connection.run(
            "INSERT INTO operator_links (app, \(Self.linkColumns)) "
                + "VALUES ('', $1, $2, $3, $4, $5, $6, $7) ON CONFLICT (app, link) DO NOTHING",
            [
                .bytes(link.hash), .text(link.kind.rawValue), .text(link.operatorName),
                .text(link.roles.description), .text(link.author),
                .integer(link.createdAt.milliseconds), .integer(link.until.milliseconds),
            ])
    }

    /// Looks up a link by the SHA-256 of its token, even if it has expired.
    package func find(hash: [UInt8]) throws(StorageFailure) -> OperatorLink? {
        try operatorLinks("link = $1", [.bytes(hash)]).first
    }

    /// The links that have not been used, the newest first.
    package func all() throws(StorageFailure) -> [OperatorLink] {
        try operatorLinks("link <> $1", [.bytes([])])
    }

    /// Deletes a link, so that it does not work again. Returns false if the link did not exist.
    package func delete(hash: [UInt8]) throws(StorageFailure) -> Bool {
        try connection.run(
            "DELETE FROM operator_links WHERE app = '' AND link = $1", [.bytes(hash)]) == 1
    }

    /// Deletes the links of a kind for one account. Without a name, deletes the links of the kind
    /// that are for no particular account, such as the links of the kind `first`. Returns how many
    /// it deleted. Idempotent.
    @discardableResult
    package func delete(
        _ kind: OperatorLink.Kind, for name: String? = nil
    ) throws(StorageFailure) -> Int {
        try connection.run(
            "DELETE FROM operator_links WHERE app = '' AND kind = $1 "
                + "AND coalesce(operator, '') = $2",
            [.text(kind.rawValue), .text(name ?? "")])
    }

    /// Deletes the links that an operator has made. Returns how many it deleted. Idempotent.
    @discardableResult
    package func delete(by author: String) throws(StorageFailure) -> Int {
        try connection.run(
            "DELETE FROM operator_links WHERE app = '' AND author = $1", [.text(author)])
    }

    /// Deletes the expired links. Idempotent.
    package func deleteEnded(at now: Instant) throws(StorageFailure) {
        try connection.run(
            "DELETE FROM operator_links WHERE app = '' AND until_ms <= $1",
            [.integer(now.milliseconds)])
    }

    private func operatorLinks(
        _ condition: String, _ values: [Value]
    ) throws(StorageFailure) -> [OperatorLink] {
        try connection.rows(
            "SELECT \(Self.linkColumns) FROM operator_links WHERE app = '' AND \(condition) "
                + "ORDER BY created_at_ms DESC, link", values
        ) { row throws(StorageFailure) in
            let (hash, kind) = (try row.bytes(), OperatorLink.Kind(rawValue: try row.text()))
            let (name, roles) = (try row.optionalText(), OperatorRoles(try row.text()))
            guard let kind, let roles else {
                throw StorageFailure("unknown link: use a newer version of Perennial")
            }
            return OperatorLink(
                hash: hash, kind: kind, operatorName: name, roles: roles, author: try row.text(),
                createdAt: try row.instant(), until: try row.instant())
        }
    }
}
