import Ledger

/// A person with an account of the dashboard.
package struct Owner: Hashable, Sendable {
    /// Unique, in lower case.
    package var name: String
    package var roles: OwnerRoles
    package var createdAt: Instant
    /// The last time the owner signed in with a password. Nil if never.
    package var signedInAt: Instant?
    /// From then on the owner cannot sign in. Nil if not blocked.
    package var blockedAt: Instant?

    package init(
        name: String, roles: OwnerRoles, createdAt: Instant, signedInAt: Instant? = nil,
        blockedAt: Instant? = nil
    ) {
        self.name = name
        self.roles = roles
        self.createdAt = createdAt
        self.signedInAt = signedInAt
        self.blockedAt = blockedAt
    }
}

extension DatabaseSession {
    private static let ownerColumns = "owner, created_at_ms, signed_in_at_ms, blocked_at_ms"

    /// Adds an account with its roles. Returns false if the name has one already.
    package func add(
        _ owner: Owner, password: String
    ) throws(StorageFailure) -> Bool {
        let added = try connection.run(
            "INSERT INTO owners (app, owner, password, created_at_ms) VALUES ('', $1, $2, $3) "
                + "ON CONFLICT (app, owner) DO NOTHING",
            [.text(owner.name), .text(password), .integer(owner.createdAt.milliseconds)])
        guard added == 1 else { return false }
        try replaceRoles(of: owner.name, with: owner.roles)
        return true
    }

    /// Replaces all roles of an owner. Idempotent.
    package func replaceRoles(
        of owner: String, with roles: OwnerRoles
    ) throws(StorageFailure) {
        try connection.run("DELETE FROM owner_roles WHERE owner = $1", [.text(owner)])
        var rows = roles.byApp.map { ($0.key.rawValue, $0.value) }.sorted { $0.0 < $1.0 }
        if let role = roles.everywhere { rows.insert(("", role), at: 0) }
        try connection.runEach(
            "INSERT INTO owner_roles (app, owner, role) VALUES ($1, $2, $3)",
            rows.map { [.text($0.0), .text(owner), .text($0.1.rawValue)] })
    }

    package func owner(_ name: String) throws(StorageFailure) -> Owner? {
        let rows = try connection.rows(
            "SELECT \(Self.ownerColumns) FROM owners WHERE app = '' AND owner = $1",
            [.text(name)])
        guard let row = rows.first else { return nil }
        let roles = try connection.rows(
            "SELECT owner, app, role FROM owner_roles WHERE owner = $1", [.text(name)])
        return try Self.owner(row, Self.roles(roles)[name])
    }

    /// All owners, by name.
    package func owners() throws(StorageFailure) -> [Owner] {
        let rows = try connection.rows(
            "SELECT \(Self.ownerColumns) FROM owners WHERE app = '' ORDER BY owner", [])
        let roles = try Self.roles(
            connection.rows("SELECT owner, app, role FROM owner_roles", []))
        return try rows.map { row throws(StorageFailure) in
            try Self.owner(row, roles[try row.text(0)])
        }
    }

    /// Whether anybody has an account.
    package func hasOwners() throws(StorageFailure) -> Bool {
        try !connection.rows("SELECT owner FROM owners WHERE app = '' LIMIT 1", []).isEmpty
    }

    private static func owner(_ row: Row, _ roles: OwnerRoles?) throws(StorageFailure) -> Owner {
        Owner(
            name: try row.text(0), roles: roles ?? OwnerRoles(),
            createdAt: Instant(milliseconds: try row.integer(1)),
            signedInAt: try row.optionalInteger(2).map(Instant.init(milliseconds:)),
            blockedAt: try row.optionalInteger(3).map(Instant.init(milliseconds:)))
    }

    private static func roles(_ rows: [Row]) throws(StorageFailure) -> [String: OwnerRoles] {
        var roles: [String: OwnerRoles] = [:]
        for row in rows {
            guard let role = OwnerRole(rawValue: try row.text(2)) else {
                throw StorageFailure("unknown role: use a newer version of Perennial")
            }
            let (owner, app) = (try row.text(0), try row.text(1))
            if app.isEmpty {
                roles[owner, default: OwnerRoles()].everywhere = role
            } else {
                roles[owner, default: OwnerRoles()].byApp[AppID(rawValue: app)] = role
            }
        }
        return roles
    }

    // MARK: - Passwords and blocks

    /// The stored form of an owner's password. Nil if there is no such owner.
    package func password(of owner: String) throws(StorageFailure) -> String? {
        try connection.rows(
            "SELECT password FROM owners WHERE app = '' AND owner = $1", [.text(owner)]
        ).first?.text(0)
    }

    /// Replaces a password. Idempotent.
    package func setPassword(
        _ password: String, of owner: String
    ) throws(StorageFailure) {
        try connection.run(
            "UPDATE owners SET password = $1 WHERE app = '' AND owner = $2",
            [.text(password), .text(owner)])
    }

    /// Records that an owner has signed in with the password.
    package func recordSignIn(of owner: String, at now: Instant) throws(StorageFailure) {
        try connection.run(
            "UPDATE owners SET signed_in_at_ms = $1 WHERE app = '' AND owner = $2",
            [.integer(now.milliseconds), .text(owner)])
    }

    /// Blocks an owner, or lifts the block if there is no moment. Idempotent.
    package func setBlock(
        of owner: String, since moment: Instant?
    ) throws(StorageFailure) {
        try connection.run(
            "UPDATE owners SET blocked_at_ms = $1 WHERE app = '' AND owner = $2",
            [.integer(moment?.milliseconds), .text(owner)])
    }
}
