import Ledger

/// A person with an account of the dashboard.
package struct Operator: Hashable, Sendable {
    /// The name with which the operator signs in: unique, in lower case.
    package var name: String
    package var roles: OperatorRoles
    package var createdAt: Instant
    /// The last time the operator signed in. Nil if never.
    package var signedInAt: Instant?
    /// The operator cannot sign in from this time on. Nil if the operator is not blocked.
    package var blockedAt: Instant?

    package init(
        name: String, roles: OperatorRoles, createdAt: Instant, signedInAt: Instant? = nil,
        blockedAt: Instant? = nil
    ) {
        self.name = name
        self.roles = roles
        self.createdAt = createdAt
        self.signedInAt = signedInAt
        self.blockedAt = blockedAt
    }
}

/// The accounts of operators, with roles and passwords.
package struct OperatorRows: RowGroup {
    package let tx: DatabaseSession

    private static let operatorColumns = "operator, created_at_ms, signed_in_at_ms, blocked_at_ms"

    /// Adds an account with its roles. Returns false if an account with this name exists.
    package func add(
        _ account: Operator, password: String
    ) throws(StorageFailure) -> Bool {
        let added = try connection.run(
            "INSERT INTO operators (app, operator, password, created_at_ms) "
                + "VALUES ('', $1, $2, $3) ON CONFLICT (app, operator) DO NOTHING",
            [.text(account.name), .text(password), .integer(account.createdAt.milliseconds)])
        guard added == 1 else { return false }
        try replaceRoles(of: account.name, with: account.roles)
        return true
    }

    /// Replaces all roles of an operator. Idempotent.
    package func replaceRoles(
        of name: String, with roles: OperatorRoles
    ) throws(StorageFailure) {
        try connection.run("DELETE FROM operator_roles WHERE operator = $1", [.text(name)])
        var rows = roles.byApp.map { ($0.key.rawValue, $0.value) }.sorted { $0.0 < $1.0 }
        if let role = roles.everywhere { rows.insert(("", role), at: 0) }
        try connection.runEach(
            "INSERT INTO operator_roles (app, operator, role) VALUES ($1, $2, $3)",
            rows.map { [.text($0.0), .text(name), .text($0.1.rawValue)] })
    }

    package func named(_ name: String) throws(StorageFailure) -> Operator? {
        let found = try connection.firstRow(
            "SELECT \(Self.operatorColumns) FROM operators WHERE app = '' AND operator = $1",
            [.text(name)], Self.account)
        guard var account = found else { return nil }
        let roles = try connection.rows(
            "SELECT operator, app, role FROM operator_roles WHERE operator = $1", [.text(name)])
        account.roles = try Self.roles(roles)[name] ?? OperatorRoles()
        return account
    }

    /// All operators, by name.
    package func all() throws(StorageFailure) -> [Operator] {
        let accounts = try connection.rows(
            "SELECT \(Self.operatorColumns) FROM operators WHERE app = '' ORDER BY operator", [],
            Self.account)
        let roles = try Self.roles(
            connection.rows("SELECT operator, app, role FROM operator_roles", []))
        return accounts.map { account in
            var account = account
            account.roles = roles[account.name] ?? OperatorRoles()
            return account
        }
    }

    /// Whether any account exists.
    package func hasAny() throws(StorageFailure) -> Bool {
        try !connection.rows("SELECT operator FROM operators WHERE app = '' LIMIT 1", []).isEmpty
    }

    /// An account without its roles, which are in another table.
    private static func account(_ row: inout ColumnReader) throws(StorageFailure) -> Operator {
        Operator(
            name: try row.text(), roles: OperatorRoles(), createdAt: try row.instant(),
            signedInAt: try row.optionalInstant(), blockedAt: try row.optionalInstant())
    }

    private static func roles(_ rows: [Row]) throws(StorageFailure) -> [String: OperatorRoles] {
        var roles: [String: OperatorRoles] = [:]
        for row in rows {
            let (name, app, word) = try row.read { row throws(StorageFailure) in
                (try row.text(), try row.text(), try row.text())
            }
            guard let role = OperatorRole(rawValue: word) else {
                throw StorageFailure("unknown role: use a newer version of Perennial")
            }
            if app.isEmpty {
                roles[name, default: OperatorRoles()].everywhere = role
            } else {
                roles[name, default: OperatorRoles()].byApp[AppID(rawValue: app)] = role
            }
        }
        return roles
    }

    // MARK: - Passwords and blocks

    /// The stored form of an operator's password. Nil if there is no such operator.
    package func password(of name: String) throws(StorageFailure) -> String? {
        try connection.firstText(
            "SELECT password FROM operators WHERE app = '' AND operator = $1", [.text(name)])
    }

    /// Replaces a password. Idempotent.
    package func setPassword(
        _ password: String, of name: String
    ) throws(StorageFailure) {
        try connection.run(
            "UPDATE operators SET password = $1 WHERE app = '' AND operator = $2",
            [.text(password), .text(name)])
    }

    /// Records that an operator has signed in.
    package func recordSignIn(of name: String, at now: Instant) throws(StorageFailure) {
        try connection.run(
            "UPDATE operators SET signed_in_at_ms = $1 WHERE app = '' AND operator = $2",
            [.integer(now.milliseconds), .text(name)])
    }

    /// Blocks an operator from a moment on. Lifts the block if the moment is nil. Idempotent.
    package func setBlock(
        of name: String, since moment: Instant?
    ) throws(StorageFailure) {
        try connection.run(
            "UPDATE operators SET blocked_at_ms = $1 WHERE app = '' AND operator = $2",
            [.integer(moment?.milliseconds), .text(name)])
    }
}
