import Ledger
import Storage

/// The accounts of operators: invitations, links, roles and blocks.
package struct OperatorService: Sendable {
    let context: Context
    let audit: AuditService
    let sessions: SessionService

    /// The maximum number of operators, and of unused links.
    static let operatorsMax = 500

    /// The author whom the audit names for the acts of `perennial operators`. No operator can have
    /// this name.
    package static let commandAuthor = "perennial operators"

    /// All operators, by name.
    package func all() async throws(EngineFailure) -> [Operator] {
        try await context.read { tx in try tx.operators.all() }
    }

    /// - Throws: ``EngineFailure/unknownOperator(_:)`` if no operator has the name.
    package func named(_ name: String) async throws(EngineFailure) -> Operator {
        let canonical = OperatorName.canonical(name)
        guard let account = try await context.read({ tx in try tx.operators.named(canonical) })
        else {
            throw .unknownOperator(canonical)
        }
        return account
    }

    /// The operator with a name. Nil if no operator has the name, or if the operator is blocked.
    package func active(_ name: String) async throws(EngineFailure) -> Operator? {
        let canonical = OperatorName.canonical(name)
        return try await context.read { tx in try tx.operators.named(canonical) }.flatMap(
            \.ifActive)
    }

    /// The operator whom a proxy has signed in: see ``active(_:)``. An invited person without an
    /// account now gets an account without a password.
    package func proxied(_ name: String) async throws(EngineFailure) -> Operator? {
        let (canonical, now) = (OperatorName.canonical(name), context.now())
        let (account, invitation) = try await context.read { tx in
            (
                try tx.operators.named(canonical),
                try OperatorDecisions(tx).invitation(of: canonical, at: now)
            )
        }
        guard account == nil, let invitation else { return account.flatMap(\.ifActive) }
        let entry = audit.entry("operators.accept", by: canonical, subject: canonical)
        try await context.transaction { tx in
            // The invitation may have been accepted or withdrawn a moment ago.
            guard try tx.operatorLinks.delete(hash: invitation.hash) else { return }
            let account = Operator(name: canonical, roles: invitation.roles, createdAt: now)
            guard try tx.operators.add(account, password: "") else { return }
            try tx.operatorLinks.delete(.first)
            try tx.audit.append(entry)
        }
        return try await active(canonical)
    }

    /// Whether any account exists.
    package func hasAny() async throws(EngineFailure) -> Bool {
        try await context.read { tx in try tx.operators.hasAny() }
    }

    /// The operators' accounts at providers of OpenID Connect, by the names of the operators.
    package func identities() async throws(EngineFailure) -> [String: OperatorIdentity] {
        let all = try await context.read { tx in try tx.identities.all() }
        return Dictionary(all.map { ($0.operatorName, $0) }) { first, _ in first }
    }

    // MARK: - Links

    /// Makes a link that creates the first account, an admin of every app. Returns the link's
    /// token, or nil if an account exists already.
    package func firstLink() async throws(EngineFailure) -> String? {
        guard try await !hasAny() else { return nil }
        return try await addLink(
            .first, for: nil, roles: OperatorRoles(everywhere: .admin), by: "server")
    }

    /// Makes a link that creates an account. Returns the link's token, which is not stored.
    ///
    /// - Parameter name: the name of the account.
    /// - Throws: ``EngineFailure/invalidOperator(_:)`` if the name is taken or not allowed, or if
    ///   the roles are about an app that is not configured.
    package func invite(
        _ name: String, as roles: OperatorRoles, by author: String
    ) async throws(EngineFailure) -> String {
        let name = try OperatorName.valid(name)
        try requireConfigured(roles)
        let isTaken = try await context.read { tx in
            let count = try tx.operators.all().count
            return try (tx.operators.named(name) != nil, count + tx.operatorLinks.all().count)
        }
        guard !isTaken.0 else { throw .nameTaken(name) }
        guard isTaken.1 < Self.operatorsMax else {
            throw .limitExceeded(what: "operators and links", limit: Self.operatorsMax)
        }
        return try await addLink(.invitation, for: name, roles: roles, by: author)
    }

    /// Makes a link with which an operator sets another password. Returns the link's token, which
    /// is not stored. An earlier link of the operator no longer works.
    ///
    /// - Throws: ``EngineFailure/invalidOperator(_:)`` if the operator is blocked.
    package func resetLink(
        for name: String, by author: String
    ) async throws(EngineFailure) -> String {
        let account = try await named(name)
        return try await addLink(.reset, for: account.name, roles: OperatorRoles(), by: author)
    }

    /// The link with a token. Returns nil if the link was used or has expired.
    package func link(token: String) async throws(EngineFailure) -> OperatorLink? {
        let (hash, now) = (SessionService.hash(ofToken: token), context.now())
        return try await context.read { tx in
            try OperatorDecisions(tx).usableLink(hash: hash, at: now)
        }
    }

    /// The links that wait to be used, the newest first.
    package func links() async throws(EngineFailure) -> [OperatorLink] {
        let now = context.now()
        return try await context.read { tx in try tx.operatorLinks.all() }.filter { $0.until > now }
    }

    /// Withdraws the links for a name: an invitation, or a link for a lost password. Returns false
    /// if there was no link. Idempotent.
    ///
    /// - Parameter name: nil for the links that make the first account.
    @discardableResult
    package func withdrawLinks(
        for name: String?, by author: String
    ) async throws(EngineFailure) -> Bool {
        let name = name.map(OperatorName.canonical)
        let entry = audit.entry("operators.withdraw", by: author, subject: name)
        return try await context.transaction { tx in
            try OperatorDecisions(tx).requireMayManageOperators(author)
            let kinds: [OperatorLink.Kind] = name == nil ? [.first] : [.invitation, .reset]
            let count = try kinds.map { try tx.operatorLinks.delete($0, for: name) }.reduce(0, +)
            guard count > 0 else { return false }
            try tx.audit.append(entry)
            return true
        }
    }

    private func addLink(
        _ kind: OperatorLink.Kind, for name: String?, roles: OperatorRoles, by author: String
    ) async throws(EngineFailure) -> String {
        let (token, now) = (SessionService.newToken(), context.now())
        let link = OperatorLink(
            hash: SessionService.hash(ofToken: token), kind: kind, operatorName: name, roles: roles,
            author: author, createdAt: now, until: now + OperatorSettings.linkLifetime)
        let entry = audit.entry(
            "operators.\(kind == .reset ? "reset_link" : "invite")", by: author, subject: name,
            after: roles.isEmpty ? nil : ["roles": roles.description])
        try await context.transaction { tx in
            try OperatorDecisions(tx).requireMayManageOperators(author)
            try tx.operatorLinks.deleteEnded(at: now)
            if kind == .reset, let name, try tx.operators.named(name)?.blockedAt != nil {
                throw EngineFailure.invalidOperator("\(name) is blocked. Lift the block first.")
            }
            if kind != .first {
                try tx.operatorLinks.delete(kind, for: name)
                try tx.audit.append(entry)
            }
            try tx.operatorLinks.add(link)
        }
        return token
    }

    /// Uses a link: creates the account or sets the password, and begins a session. If the operator
    /// has a passkey, or needs one, the result is a ticket for the next step instead.
    ///
    /// - Parameter chosen: the name that the person chose; used if the link contains none.
    /// - Throws: ``EngineFailure/unknownLink`` if the link does not work,
    ///   ``EngineFailure/invalidOperator(_:)`` if the name or the password is not allowed.
    package func accept(
        linkToken: String, name chosen: String, password: String, from place: SignInPlace
    ) async throws(EngineFailure) -> SignInResult {
        guard let link = try await link(token: linkToken) else { throw .unknownLink }
        let name = try OperatorName.valid(link.operatorName ?? chosen)
        try PasswordHash.requireAllowed(password, for: name)
        let thread = try context.passwords.reserve(for: place.network, isKnown: true)
        defer { thread.release() }
        let text = try await sessions.passwordText(password, on: thread)
        let (token, now) = (SessionService.newToken(), context.now())
        let session = sessions.session(token, of: name, from: place)
        let act = link.kind == .reset ? "operators.reset" : "operators.accept"
        let entry = audit.entry(act, by: name, subject: name, ["address": place.address])
        return try await context.transaction { tx in
            guard try OperatorDecisions(tx).usableLink(hash: link.hash, at: now) != nil,
                try tx.operatorLinks.delete(hash: link.hash)
            else { throw EngineFailure.unknownLink }
            switch link.kind {
            case .first, .invitation:
                let account = Operator(name: name, roles: link.roles, createdAt: now)
                guard try tx.operators.add(account, password: text) else {
                    throw EngineFailure.nameTaken(name)
                }
                try tx.operatorLinks.delete(.first)
            case .reset:
                try tx.operators.setPassword(text, of: name)
                try tx.sessions.delete(of: name)
                try OperatorDecisions(tx).deleteLinks(thatReturn: name)
            }
            try OperatorDecisions(tx).deleteFailures(
                ofName: SignInAttempt(name: name, network: place.network))
            if let ticket = try sessions.ticket(after: text, of: name, tx) {
                try tx.audit.append(entry)
                return .unfinished(ticket)
            }
            try sessions.begin(session, from: place, entry, tx)
            return .session(token: token)
        }
    }

    // MARK: - Roles and blocks

    /// Replaces the roles of an operator. If the new roles do not allow managing operators, the
    /// links that the operator has made stop working. Idempotent.
    ///
    /// - Throws: ``EngineFailure/invalidOperator(_:)`` if no operator would remain who manages
    ///   operators.
    package func setRoles(
        of name: String, to roles: OperatorRoles, by author: String
    ) async throws(EngineFailure) {
        try requireConfigured(roles)
        let name = try await named(name).name
        try await context.transaction { tx in
            try OperatorDecisions(tx).requireMayManageOperators(author)
            guard let account = try tx.operators.named(name), account.roles != roles else { return }
            try tx.operators.replaceRoles(of: name, with: roles)
            // Otherwise the operator could regain the role, with a link that the operator made
            // before.
            if !roles.manageOperators { try tx.operatorLinks.delete(by: name) }
            try OperatorDecisions(tx).requireAdmin(without: name)
            try tx.audit.append(
                audit.entry(
                    "operators.roles", by: author, subject: name,
                    before: ["roles": account.roles.description],
                    after: ["roles": roles.description]))
        }
    }

    /// Blocks an operator, ends the operator's sessions and withdraws the links that the operator
    /// has made; or lifts the block. Idempotent.
    ///
    /// - Throws: ``EngineFailure/invalidOperator(_:)`` if no operator would remain who manages
    ///   operators.
    package func setBlock(
        _ isBlocked: Bool, of name: String, by author: String
    ) async throws(EngineFailure) {
        let name = try await named(name).name
        let now = context.now()
        let entry = audit.entry(
            isBlocked ? "operators.block" : "operators.unblock", by: author, subject: name)
        try await context.transaction { tx in
            try OperatorDecisions(tx).requireMayManageOperators(author)
            guard let account = try tx.operators.named(name),
                (account.blockedAt != nil) != isBlocked
            else {
                return
            }
            try tx.operators.setBlock(of: name, since: isBlocked ? now : nil)
            if isBlocked {
                try tx.sessions.delete(of: name)
                try OperatorDecisions(tx).deleteLinks(thatReturn: name)
                try OperatorDecisions(tx).requireAdmin(without: name)
            }
            try tx.audit.append(entry)
        }
    }

    private func requireConfigured(_ roles: OperatorRoles) throws(EngineFailure) {
        guard !roles.isEmpty else { throw .invalidOperator("Choose at least one role.") }
        guard roles.byApp.count <= OperatorRoles.appsMax else {
            throw .limitExceeded(what: "apps of an operator", limit: OperatorRoles.appsMax)
        }
        for app in roles.byApp.keys.sorted() { _ = try self.context.app(app) }
    }
}

extension EngineFailure {
    fileprivate static func nameTaken(_ name: String) -> Self {
        .invalidOperator("There is already an account with the name \(name).")
    }
}

extension Operator {
    var ifActive: Operator? { blockedAt == nil ? self : nil }
}
