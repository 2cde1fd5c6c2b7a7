import Ledger
import Storage

extension Engine {
    /// The maximum number of operators, and of links that wait.
    static let operatorsMax = 500

    /// All operators, by name.
    package func operators() async throws(EngineFailure) -> [Operator] {
        try await read { tx in try tx.operators() }
    }

    /// - Throws: ``EngineFailure/unknownOperator(_:)`` if there is none of the name.
    package func operatorNamed(_ name: String) async throws(EngineFailure) -> Operator {
        let canonical = OperatorName.canonical(name)
        guard let account = try await read({ tx in try tx.operatorNamed(canonical) }) else {
            throw .unknownOperator(canonical)
        }
        return account
    }

    /// The operator of a name, unless there is none or the operator is blocked.
    package func activeOperator(_ name: String) async throws(EngineFailure) -> Operator? {
        let canonical = OperatorName.canonical(name)
        return try await read { tx in try tx.operatorNamed(canonical) }.flatMap(\.ifActive)
    }

    /// The operator whom a proxy has signed in: see ``activeOperator(_:)``. Somebody who is
    /// invited, and has no account yet, gets it now; it has no password.
    package func proxiedOperator(_ name: String) async throws(EngineFailure) -> Operator? {
        let (canonical, now) = (OperatorName.canonical(name), now())
        let (account, invitation) = try await read { tx in
            (try tx.operatorNamed(canonical), try tx.invitation(of: canonical, at: now))
        }
        guard account == nil, let invitation else { return account.flatMap(\.ifActive) }
        let entry = auditEntry("operators.accept", by: canonical, subject: canonical)
        try await transaction { tx in
            // It may have been accepted, or taken back, a moment ago.
            guard try tx.deleteOperatorLink(hash: invitation.hash) else { return }
            let account = Operator(name: canonical, roles: invitation.roles, createdAt: now)
            guard try tx.add(account, password: "") else { return }
            try tx.deleteOperatorLinks(.first)
            try tx.append(entry)
        }
        return try await activeOperator(canonical)
    }

    /// Whether anybody has an account.
    package func hasOperators() async throws(EngineFailure) -> Bool {
        try await read { tx in try tx.hasOperators() }
    }

    // MARK: - Links

    /// Makes a link that makes the first account, an admin of every app. Returns its token, or nil
    /// if somebody has an account already.
    package func firstOperatorLink() async throws(EngineFailure) -> String? {
        guard try await !hasOperators() else { return nil }
        return try await addLink(
            .first, for: nil, roles: OperatorRoles(everywhere: .admin), by: "server")
    }

    /// Makes a link that makes an account. Returns its token, which is not stored.
    ///
    /// - Parameter name: the name of the account.
    /// - Throws: ``EngineFailure/invalidOperator(_:)`` if the name is taken or not allowed, or if
    ///   the roles are about an app that is not configured.
    package func invite(
        _ name: String, as roles: OperatorRoles, by author: String
    ) async throws(EngineFailure) -> String {
        let name = try OperatorName.valid(name)
        try requireConfigured(roles)
        let isTaken = try await read { tx in
            let count = try tx.operators().count
            return try (tx.operatorNamed(name) != nil, count + tx.operatorLinks().count)
        }
        guard !isTaken.0 else { throw .nameTaken(name) }
        guard isTaken.1 < Self.operatorsMax else {
            throw .limitExceeded(what: "operators and links", limit: Self.operatorsMax)
        }
        return try await addLink(.invitation, for: name, roles: roles, by: author)
    }

    /// Makes a link with which an operator sets another password. Returns its token, which is not
    /// stored. An earlier link of the operator no longer works.
    ///
    /// - Throws: ``EngineFailure/invalidOperator(_:)`` if the operator is blocked.
    package func resetLink(
        for name: String, by author: String
    ) async throws(EngineFailure) -> String {
        let account = try await operatorNamed(name)
        return try await addLink(.reset, for: account.name, roles: OperatorRoles(), by: author)
    }

    /// The link with a token. Returns nil if it was used, or has ended.
    package func operatorLink(token: String) async throws(EngineFailure) -> OperatorLink? {
        let (hash, now) = (Self.hash(ofToken: token), now())
        return try await read { tx in try tx.usableLink(hash: hash, at: now) }
    }

    /// The links that wait to be used, the newest first.
    package func operatorLinks() async throws(EngineFailure) -> [OperatorLink] {
        let now = now()
        return try await read { tx in try tx.operatorLinks() }.filter { $0.until > now }
    }

    /// Withdraws the links for a name: an invitation, or one for a lost password. Returns false if
    /// there was none. Idempotent.
    ///
    /// - Parameter name: nil for the links that make the first account.
    @discardableResult
    package func withdrawLinks(
        for name: String?, by author: String
    ) async throws(EngineFailure) -> Bool {
        let name = name.map(OperatorName.canonical)
        let entry = auditEntry("operators.withdraw", by: author, subject: name)
        return try await transaction { tx in
            try tx.requireMayManageOperators(author)
            let kinds: [OperatorLink.Kind] = name == nil ? [.first] : [.invitation, .reset]
            let count = try kinds.map { try tx.deleteOperatorLinks($0, for: name) }.reduce(0, +)
            guard count > 0 else { return false }
            try tx.append(entry)
            return true
        }
    }

    private func addLink(
        _ kind: OperatorLink.Kind, for name: String?, roles: OperatorRoles, by author: String
    ) async throws(EngineFailure) -> String {
        let (token, now) = (Self.newToken(), now())
        let link = OperatorLink(
            hash: Self.hash(ofToken: token), kind: kind, operatorName: name, roles: roles,
            author: author, createdAt: now, until: now + OperatorSettings.linkLifetime)
        let entry = auditEntry(
            "operators.\(kind == .reset ? "reset_link" : "invite")", by: author, subject: name,
            after: roles.isEmpty ? nil : ["roles": roles.description])
        try await transaction { tx in
            try tx.requireMayManageOperators(author)
            try tx.deleteEndedOperatorLinks(at: now)
            if kind == .reset, let name, try tx.operatorNamed(name)?.blockedAt != nil {
                throw EngineFailure.invalidOperator("\(name) is blocked. Lift the block first.")
            }
            if kind != .first {
                try tx.deleteOperatorLinks(kind, for: name)
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
    ///   ``EngineFailure/invalidOperator(_:)`` if the name or the password is not allowed.
    package func accept(
        linkToken: String, name chosen: String, password: String, from place: SignInPlace
    ) async throws(EngineFailure) -> String {
        guard let link = try await operatorLink(token: linkToken) else { throw .unknownLink }
        let name = try OperatorName.valid(link.operatorName ?? chosen)
        try PasswordHash.requireAllowed(password, for: name)
        let thread = try passwords.reserve(for: place.network, isKnown: true)
        defer { thread.release() }
        let text = try await passwordText(password, on: thread)
        let (token, now) = (Self.newToken(), now())
        let session = session(token, of: name, from: place)
        let act = link.kind == .reset ? "operators.reset" : "operators.accept"
        let entry = auditEntry(act, by: name, subject: name, ["address": place.address])
        try await transaction { tx in
            guard try tx.usableLink(hash: link.hash, at: now) != nil,
                try tx.deleteOperatorLink(hash: link.hash)
            else { throw EngineFailure.unknownLink }
            switch link.kind {
            case .first, .invitation:
                let account = Operator(name: name, roles: link.roles, createdAt: now)
                guard try tx.add(account, password: text) else {
                    throw EngineFailure.nameTaken(name)
                }
                try tx.deleteOperatorLinks(.first)
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

    /// Replaces the roles of an operator. If the new ones do not include to manage operators, the
    /// links that the operator has made work no longer. Idempotent.
    ///
    /// - Throws: ``EngineFailure/invalidOperator(_:)`` if no operator would remain who manages
    ///   operators.
    package func setRoles(
        of name: String, to roles: OperatorRoles, by author: String
    ) async throws(EngineFailure) {
        try requireConfigured(roles)
        let name = try await operatorNamed(name).name
        try await transaction { tx in
            try tx.requireMayManageOperators(author)
            guard let account = try tx.operatorNamed(name), account.roles != roles else { return }
            try tx.replaceRoles(of: name, with: roles)
            // A link that the operator has made, and may have kept, would be a way back.
            if !roles.manageOperators { try tx.deleteOperatorLinks(by: name) }
            try tx.requireAdmin(without: name)
            try tx.append(
                auditEntry(
                    "operators.roles", by: author, subject: name,
                    before: ["roles": account.roles.description],
                    after: ["roles": roles.description]))
        }
    }

    /// Blocks an operator, ends the operator's sessions and takes back the links that the operator
    /// has made; or lifts the block. Idempotent.
    ///
    /// - Throws: ``EngineFailure/invalidOperator(_:)`` if no operator would remain who manages
    ///   operators.
    package func setBlock(
        _ isBlocked: Bool, of name: String, by author: String
    ) async throws(EngineFailure) {
        let name = try await operatorNamed(name).name
        let now = now()
        let entry = auditEntry(
            isBlocked ? "operators.block" : "operators.unblock", by: author, subject: name)
        try await transaction { tx in
            try tx.requireMayManageOperators(author)
            guard let account = try tx.operatorNamed(name), (account.blockedAt != nil) != isBlocked
            else {
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

    private func requireConfigured(_ roles: OperatorRoles) throws(EngineFailure) {
        guard !roles.isEmpty else { throw .invalidOperator("Choose at least one role.") }
        guard roles.byApp.count <= OperatorRoles.appsMax else {
            throw .limitExceeded(what: "apps of an operator", limit: OperatorRoles.appsMax)
        }
        for app in roles.byApp.keys.sorted() { _ = try self.app(app) }
    }
}

extension DatabaseSession {
    /// The link, if it still works.
    fileprivate func usableLink(hash: [UInt8], at now: Instant) throws -> OperatorLink? {
        guard let link = try operatorLink(hash: hash), link.until > now else { return nil }
        switch link.kind {
        case .first: return try hasOperators() ? nil : link
        case .invitation: return link
        case .reset:
            return try link.operatorName.flatMap(operatorNamed)?.ifActive == nil ? nil : link
        }
    }

    /// The invitation of a name, if it still works.
    fileprivate func invitation(of name: String, at now: Instant) throws -> OperatorLink? {
        try operatorLinks().first {
            $0.kind == .invitation && $0.operatorName == name && $0.until > now
        }
    }

    /// Deletes the links by which somebody who had the operator's session could come back: those
    /// that set the operator's password, and those that the operator has made. Returns how many
    /// there were.
    @discardableResult
    func deleteLinks(thatReturn name: String) throws -> Int {
        try deleteOperatorLinks(.reset, for: name) + deleteOperatorLinks(by: name)
    }

    /// In the transaction of an act on accounts: a page was asked for before it, and meanwhile its
    /// author may have been blocked. Programs, which are no operators, may do everything.
    ///
    /// - Throws: ``EngineFailure/notManager(_:)`` if an operator is blocked or manages nobody.
    func requireMayManageOperators(_ author: String) throws {
        guard let account = try operatorNamed(author) else { return }
        guard account.blockedAt == nil, account.roles.manageOperators else {
            throw EngineFailure.notManager(author)
        }
    }

    /// - Parameter name: the operator who was an admin of every app until now.
    fileprivate func requireAdmin(without name: String) throws {
        guard try operators().contains(where: { $0.roles.manageOperators && $0.blockedAt == nil })
        else {
            throw EngineFailure.invalidOperator(
                "\(name) is the only admin of every app. Make another user one first.")
        }
    }
}

extension EngineFailure {
    fileprivate static func nameTaken(_ name: String) -> Self {
        .invalidOperator("There is already an account with the name \(name).")
    }
}

extension Operator {
    fileprivate var ifActive: Operator? { blockedAt == nil ? self : nil }
}
