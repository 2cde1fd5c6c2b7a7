import Ledger
import Storage

extension Engine {
    /// The maximum number of owners, and of links that wait.
    static let ownersMax = 500

    /// All owners, by name.
    package func owners() async throws(EngineFailure) -> [Owner] {
        try await read { tx in try tx.owners() }
    }

    /// - Throws: ``EngineFailure/unknownOwner(_:)`` if there is none of the name.
    package func owner(_ name: String) async throws(EngineFailure) -> Owner {
        let canonical = OwnerName.canonical(name)
        guard let owner = try await read({ tx in try tx.owner(canonical) }) else {
            throw .unknownOwner(canonical)
        }
        return owner
    }

    /// The owner of a name, unless there is none or the owner is blocked.
    package func activeOwner(_ name: String) async throws(EngineFailure) -> Owner? {
        let canonical = OwnerName.canonical(name)
        return try await read { tx in try tx.owner(canonical) }.flatMap(\.ifActive)
    }

    /// The owner whom a proxy has signed in: see ``activeOwner(_:)``. Somebody who is invited, and
    /// has no account yet, gets it now; it has no password.
    package func proxiedOwner(_ name: String) async throws(EngineFailure) -> Owner? {
        let (canonical, now) = (OwnerName.canonical(name), now())
        let (owner, invitation) = try await read { tx in
            (try tx.owner(canonical), try tx.invitation(of: canonical, at: now))
        }
        guard owner == nil, let invitation else { return owner.flatMap(\.ifActive) }
        let entry = auditEntry("owners.accept", by: canonical, subject: canonical)
        try await transaction { tx in
            // It may have been accepted, or taken back, a moment ago.
            guard try tx.deleteOwnerLink(hash: invitation.hash) else { return }
            let owner = Owner(name: canonical, roles: invitation.roles, createdAt: now)
            guard try tx.add(owner, password: "") else { return }
            try tx.deleteOwnerLinks(.first)
            try tx.append(entry)
        }
        return try await activeOwner(canonical)
    }

    /// Whether anybody has an account.
    package func hasOwners() async throws(EngineFailure) -> Bool {
        try await read { tx in try tx.hasOwners() }
    }

    // MARK: - Links

    /// Makes a link that makes the first account, an admin of every app. Returns its token, or nil
    /// if somebody has an account already.
    package func firstOwnerLink() async throws(EngineFailure) -> String? {
        guard try await !hasOwners() else { return nil }
        return try await addLink(
            .first, for: nil, roles: OwnerRoles(everywhere: .admin), by: "server")
    }

    /// Makes a link that makes an account. Returns its token, which is not stored.
    ///
    /// - Parameter name: the name of the account.
    /// - Throws: ``EngineFailure/invalidOwner(_:)`` if the name is taken or not allowed, or if the
    ///   roles are about an app that is not configured.
    package func invite(
        _ name: String, as roles: OwnerRoles, by author: String
    ) async throws(EngineFailure) -> String {
        let name = try OwnerName.valid(name)
        try requireConfigured(roles)
        let isTaken = try await read { tx in
            let count = try tx.owners().count
            return try (tx.owner(name) != nil, count + tx.ownerLinks().count)
        }
        guard !isTaken.0 else { throw .nameTaken(name) }
        guard isTaken.1 < Self.ownersMax else {
            throw .limitExceeded(what: "owners and links", limit: Self.ownersMax)
        }
        return try await addLink(.invitation, for: name, roles: roles, by: author)
    }

    /// Makes a link with which an owner sets another password. Returns its token, which is not
    /// stored. An earlier link of the owner no longer works.
    ///
    /// - Throws: ``EngineFailure/invalidOwner(_:)`` if the owner is blocked.
    package func resetLink(
        for name: String, by author: String
    ) async throws(EngineFailure) -> String {
        let owner = try await owner(name)
        return try await addLink(.reset, for: owner.name, roles: OwnerRoles(), by: author)
    }

    /// The link with a token. Returns nil if it was used, or has ended.
    package func ownerLink(token: String) async throws(EngineFailure) -> OwnerLink? {
        let (hash, now) = (Self.hash(ofToken: token), now())
        return try await read { tx in try tx.usableLink(hash: hash, at: now) }
    }

    /// The links that wait to be used, the newest first.
    package func ownerLinks() async throws(EngineFailure) -> [OwnerLink] {
        let now = now()
        return try await read { tx in try tx.ownerLinks() }.filter { $0.until > now }
    }

    /// Withdraws the links for a name: an invitation, or one for a lost password. Returns false if
    /// there was none. Idempotent.
    ///
    /// - Parameter name: nil for the links that make the first account.
    @discardableResult
    package func withdrawLinks(
        for name: String?, by author: String
    ) async throws(EngineFailure) -> Bool {
        let name = name.map(OwnerName.canonical)
        let entry = auditEntry("owners.withdraw", by: author, subject: name)
        return try await transaction { tx in
            try tx.requireMayManageOwners(author)
            let kinds: [OwnerLink.Kind] = name == nil ? [.first] : [.invitation, .reset]
            let count = try kinds.map { try tx.deleteOwnerLinks($0, for: name) }.reduce(0, +)
            guard count > 0 else { return false }
            try tx.append(entry)
            return true
        }
    }

    private func addLink(
        _ kind: OwnerLink.Kind, for owner: String?, roles: OwnerRoles, by author: String
    ) async throws(EngineFailure) -> String {
        let (token, now) = (Self.newToken(), now())
        let link = OwnerLink(
            hash: Self.hash(ofToken: token), kind: kind, owner: owner, roles: roles,
            author: author, createdAt: now, until: now + OwnerSettings.linkLifetime)
        let entry = auditEntry(
            "owners.\(kind == .reset ? "reset_link" : "invite")", by: author, subject: owner,
            after: roles.isEmpty ? nil : ["roles": roles.description])
        try await transaction { tx in
            try tx.requireMayManageOwners(author)
            try tx.deleteEndedOwnerLinks(at: now)
            if kind == .reset, let owner, try tx.owner(owner)?.blockedAt != nil {
                throw EngineFailure.invalidOwner("\(owner) is blocked. Lift the block first.")
            }
            if kind != .first {
                try tx.deleteOwnerLinks(kind, for: owner)
                try tx.append(entry)
            }
            try tx.add(link)
        }
        return token
    }

    /// Uses a link: makes the account or sets the password, and begins a session. Returns the
    /// session's token.
    ///
    /// - Parameter chosen: the name, if the link has none.
    /// - Throws: ``EngineFailure/unknownLink`` if the link does not work,
    ///   ``EngineFailure/invalidOwner(_:)`` if the name or the password is not allowed.
    package func accept(
        linkToken: String, name chosen: String, password: String, from place: SignInPlace
    ) async throws(EngineFailure) -> String {
        guard let link = try await ownerLink(token: linkToken) else { throw .unknownLink }
        let name = try OwnerName.valid(link.owner ?? chosen)
        try PasswordHash.requireAllowed(password, for: name)
        let thread = try passwords.reserve(for: place.network, isKnown: true)
        defer { thread.release() }
        let text = try await passwordText(password, on: thread)
        let (token, now) = (Self.newToken(), now())
        let session = session(token, of: name, from: place)
        let act = link.kind == .reset ? "owners.reset" : "owners.accept"
        let entry = auditEntry(act, by: name, subject: name, ["address": place.address])
        try await transaction { tx in
            guard try tx.usableLink(hash: link.hash, at: now) != nil,
                try tx.deleteOwnerLink(hash: link.hash)
            else { throw EngineFailure.unknownLink }
            switch link.kind {
            case .first, .invitation:
                let owner = Owner(name: name, roles: link.roles, createdAt: now)
                guard try tx.add(owner, password: text) else {
                    throw EngineFailure.nameTaken(name)
                }
                try tx.deleteOwnerLinks(.first)
            case .reset:
                try tx.setPassword(text, of: name)
                try tx.deleteSessions(of: name)
                try tx.deleteLinks(thatReturn: name)
            }
            try tx.deleteFailures(
                ofName: SignInAttempt(name: name, network: place.network))
            try tx.add(session)
            try tx.recordSignIn(of: name, from: place, at: now)
            try tx.append(entry)
        }
        return token
    }

    // MARK: - Roles and blocks

    /// Replaces the roles of an owner. If the new ones do not include to manage owners, the links
    /// that the owner has made work no longer. Idempotent.
    ///
    /// - Throws: ``EngineFailure/invalidOwner(_:)`` if no owner would remain who manages owners.
    package func setRoles(
        of name: String, to roles: OwnerRoles, by author: String
    ) async throws(EngineFailure) {
        try requireConfigured(roles)
        let name = try await owner(name).name
        try await transaction { tx in
            try tx.requireMayManageOwners(author)
            guard let owner = try tx.owner(name), owner.roles != roles else { return }
            try tx.replaceRoles(of: name, with: roles)
            // A link that the owner has made, and may have kept, would be a way back.
            if !roles.manageOwners { try tx.deleteOwnerLinks(by: name) }
            try tx.requireAdmin(without: name)
            try tx.append(
                auditEntry(
                    "owners.roles", by: author, subject: name,
                    before: ["roles": owner.roles.description],
                    after: ["roles": roles.description]))
        }
    }

    /// Blocks an owner, ends the owner's sessions and takes back the links that the owner has made;
    /// or lifts the block. Idempotent.
    ///
    /// - Throws: ``EngineFailure/invalidOwner(_:)`` if no owner would remain who manages owners.
    package func setBlock(
        _ isBlocked: Bool, of name: String, by author: String
    ) async throws(EngineFailure) {
        let name = try await owner(name).name
        let now = now()
        let entry = auditEntry(
            isBlocked ? "owners.block" : "owners.unblock", by: author, subject: name)
        try await transaction { tx in
            try tx.requireMayManageOwners(author)
            guard let owner = try tx.owner(name), (owner.blockedAt != nil) != isBlocked else {
                return
            }
            try tx.setBlock(of: name, since: isBlocked ? now : nil)
            if isBlocked {
                try tx.deleteSessions(of: name)
                try tx.deleteLinks(thatReturn: name)
                try tx.requireAdmin(without: name)
            }
            try tx.append(entry)
        }
    }

    private func requireConfigured(_ roles: OwnerRoles) throws(EngineFailure) {
        guard !roles.isEmpty else { throw .invalidOwner("Choose at least one role.") }
        guard roles.byApp.count <= OwnerRoles.appsMax else {
            throw .limitExceeded(what: "apps of an owner", limit: OwnerRoles.appsMax)
        }
        for app in roles.byApp.keys.sorted() { _ = try self.app(app) }
    }
}

extension DatabaseSession {
    /// The link, if it still works.
    fileprivate func usableLink(hash: [UInt8], at now: Instant) throws -> OwnerLink? {
        guard let link = try ownerLink(hash: hash), link.until > now else { return nil }
        switch link.kind {
        case .first: return try hasOwners() ? nil : link
        case .invitation: return link
        case .reset: return try link.owner.flatMap(owner)?.ifActive == nil ? nil : link
        }
    }

    /// The invitation of a name, if it still works.
    fileprivate func invitation(of name: String, at now: Instant) throws -> OwnerLink? {
        try ownerLinks().first { $0.kind == .invitation && $0.owner == name && $0.until > now }
    }

    /// Deletes the links by which somebody who had the owner's session could come back: those that
    /// set the owner's password, and those that the owner has made. Returns how many there were.
    @discardableResult
    func deleteLinks(thatReturn owner: String) throws -> Int {
        try deleteOwnerLinks(.reset, for: owner) + deleteOwnerLinks(by: owner)
    }

    /// In the transaction of an act on accounts: a page was asked for before it, and meanwhile its
    /// author may have been blocked. Programs, which are no owners, may do everything.
    ///
    /// - Throws: ``EngineFailure/notManager(_:)`` if an owner is blocked or manages nobody.
    func requireMayManageOwners(_ author: String) throws {
        guard let owner = try owner(author) else { return }
        guard owner.blockedAt == nil, owner.roles.manageOwners else {
            throw EngineFailure.notManager(author)
        }
    }

    /// - Parameter name: the owner who was an admin of every app until now.
    fileprivate func requireAdmin(without name: String) throws {
        guard try owners().contains(where: { $0.roles.manageOwners && $0.blockedAt == nil }) else {
            throw EngineFailure.invalidOwner(
                "\(name) is the only admin of every app. Make another user one first.")
        }
    }
}

extension EngineFailure {
    fileprivate static func nameTaken(_ name: String) -> Self {
        .invalidOwner("There is already an account with the name \(name).")
    }
}

extension Owner {
    fileprivate var ifActive: Owner? { blockedAt == nil ? self : nil }
}
