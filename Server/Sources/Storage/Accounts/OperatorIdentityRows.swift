import Ledger

/// An operator's account at a provider of OpenID Connect.
package struct OperatorIdentity: Hashable, Sendable {
    /// The address of the provider, and the name by which it identifies the person. Together they
    /// never change, and no other person gets them (OpenID Connect Core 1.0, 5.7).
    package var issuer: String
    package var subject: String
    package var operatorName: String
    /// The person's name as the provider gave it last, for people to read. May be empty.
    package var fullName: String
    package var createdAt: Instant

    package init(
        issuer: String, subject: String, operatorName: String, fullName: String, createdAt: Instant
    ) {
        self.issuer = issuer
        self.subject = subject
        self.operatorName = operatorName
        self.fullName = fullName
        self.createdAt = createdAt
    }
}

/// The accounts of operators at providers of OpenID Connect, and the sign-ins that are complete.
package struct OperatorIdentityRows: RowGroup {
    package let tx: DatabaseSession

    private static let columns = "issuer, subject, operator, full_name, created_at_ms"

    /// The identity with an issuer and a subject. Nil if no operator has it.
    package func find(
        issuer: String, subject: String
    ) throws(StorageFailure) -> OperatorIdentity? {
        try connection.firstRow(
            "SELECT \(Self.columns) FROM operator_identities "
                + "WHERE app = '' AND issuer = $1 AND subject = $2",
            [.text(issuer), .text(subject)], Self.identity)
    }

    /// All identities, in the order of their operators' names.
    package func all() throws(StorageFailure) -> [OperatorIdentity] {
        try connection.rows(
            "SELECT \(Self.columns) FROM operator_identities WHERE app = '' "
                + "ORDER BY operator, issuer, subject", [], Self.identity)
    }

    /// Adds an identity, or replaces the full name of one that exists. Idempotent.
    package func save(_ identity: OperatorIdentity) throws(StorageFailure) {
        try connection.run(
            "INSERT INTO operator_identities (app, \(Self.columns)) "
                + "VALUES ('', $1, $2, $3, $4, $5) ON CONFLICT (app, issuer, subject) "
                + "DO UPDATE SET full_name = excluded.full_name",
            [
                .text(identity.issuer), .text(identity.subject), .text(identity.operatorName),
                .text(identity.fullName), .integer(identity.createdAt.milliseconds),
            ])
    }

    /// Records that a sign-in is complete. Returns false if it was complete before.
    ///
    /// - Parameter hash: the SHA-256 of the sign-in's secret.
    /// - Parameter until: when the sign-in could no longer be used anyway.
    package func use(
        signIn hash: [UInt8], until: Instant
    ) throws(StorageFailure) -> Bool {
        try connection.run(
            "INSERT INTO used_sign_ins (app, sign_in, until_ms) VALUES ('', $1, $2) "
                + "ON CONFLICT (app, sign_in) DO NOTHING",
            [.bytes(hash), .integer(until.milliseconds)]) == 1
    }

    /// Deletes the completed sign-ins that can no longer be used. Idempotent.
    package func deleteUsedSignIns(before now: Instant) throws(StorageFailure) {
        try connection.run(
            "DELETE FROM used_sign_ins WHERE app = '' AND until_ms <= $1",
            [.integer(now.milliseconds)])
    }

    private static func identity(
        _ row: inout ColumnReader
    ) throws(StorageFailure) -> OperatorIdentity {
        OperatorIdentity(
            issuer: try row.text(), subject: try row.text(), operatorName: try row.text(),
            fullName: try row.text(), createdAt: try row.instant())
    }
}
