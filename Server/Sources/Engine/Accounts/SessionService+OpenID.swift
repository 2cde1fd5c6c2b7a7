import Crypto
import Ledger
import OpenIDConnect
import Storage

/// The result of a sign-in by a provider of OpenID Connect.
package enum ProviderSignInResult: Hashable, Sendable {
    /// A new session has begun, with this token.
    case session(token: String)
    /// No group of the person gives a role.
    case withoutRole
    /// The operator with this name is blocked.
    case blocked(name: String)
}

extension SessionService {
    /// The author that the audit names for roles that a provider's groups give or take. No operator
    /// can have this name.
    static let providerAuthor = "OpenID Connect"

    /// Begins a sign-in by a provider.
    ///
    /// - Parameter next: the path of this server to which the visitor returns.
    package func ticket(returningTo next: String) -> SignInTicket {
        let secret = SymmetricKey(size: .bits256).withUnsafeBytes { Array($0) }
        return SignInTicket(secret: secret, begunAt: context.now(), next: next)
    }

    /// The value of the cookie in which the browser stores a ticket.
    package func cookie(of ticket: SignInTicket) async throws(EngineFailure) -> String {
        ticket.cookie(key: try await sharedSecret("sign-in"))
    }

    /// The ticket in a cookie. Nil if the sign-in has expired, or did not begin at this server.
    package func ticket(inCookie text: String) async throws(EngineFailure) -> SignInTicket? {
        SignInTicket(cookie: text, key: try await sharedSecret("sign-in"), now: context.now())
    }

    /// Uses a ticket up. Returns false if it was used before, at any server of the database.
    package func use(_ ticket: SignInTicket) async throws(EngineFailure) -> Bool {
        try await use(ticketHash: ticket.hash, until: ticket.until)
    }

    /// Uses a ticket up. Returns false if it has ended, or was used before, at any server of the
    /// database. A ticket can end after it was read, while the rest of the request arrives.
    func use(ticketHash hash: [UInt8], until: Instant) async throws(EngineFailure) -> Bool {
        let now = context.now()
        guard now < until else { return false }
        return try await context.transaction { tx in
            // At a server whose clock is behind, the tickets that ended a moment ago still work.
            try tx.identities.deleteUsedSignIns(before: now - PasskeyTicket.leeway)
            return try tx.identities.use(signIn: hash, until: until)
        }
    }

    /// Begins a session for a person whom a provider has signed in.
    ///
    /// The provider decides about roles at each sign-in: the operator gets the given roles, and no
    /// others. The first sign-in makes an account. It never gets the name of another account,
    /// because the person may choose any name at the provider.
    ///
    /// - Parameters:
    ///   - roles: what the person's groups give. If they give nothing, the operator's roles,
    ///     sessions and links end.
    ///   - life: how long the session lasts at most.
    package func signIn(
        _ identity: VerifiedIdentity, as roles: OperatorRoles, for life: Duration,
        from place: SignInPlace
    ) async throws(EngineFailure) -> ProviderSignInResult {
        let (token, now) = (Self.newToken(), context.now())
        let life = min(life, operatorSettings.lifetime)
        return try await context.transaction { tx in
            let known = try tx.identities.find(issuer: identity.issuer, subject: identity.subject)
            let former = try (known?.operatorName).flatMap(tx.operators.named)
            if let former, former.blockedAt != nil { return .blocked(name: former.name) }
            if let former { try replaceRoles(of: former, with: roles, tx) }
            guard !roles.isEmpty else { return .withoutRole }
            let name = try former?.name ?? addAccount(identity, roles, at: now, tx)
            try tx.identities.save(
                OperatorIdentity(
                    issuer: identity.issuer, subject: identity.subject, operatorName: name,
                    fullName: identity.fullName ?? "", createdAt: now))
            var session = self.session(token, of: name, from: place)
            session.until = now + life
            let entry = audit.entry(
                "session.sign_in", by: name,
                ["address": place.address, "provider": identity.issuer])
            try begin(session, from: place, entry, tx)
            return .session(token: token)
        }
    }

    private func replaceRoles(
        of account: Operator, with roles: OperatorRoles, _ tx: DatabaseSession
    ) throws {
        guard account.roles != roles else { return }
        try tx.operators.replaceRoles(of: account.name, with: roles)
        // With a link that the operator made before, the operator could regain the role.
        if !roles.manageOperators { try tx.operatorLinks.delete(by: account.name) }
        if roles.isEmpty {
            try tx.sessions.delete(of: account.name)
            try OperatorDecisions(tx).deleteLinks(thatReturn: account.name)
        }
        try tx.audit.append(
            audit.entry(
                "operators.roles", by: Self.providerAuthor, subject: account.name,
                before: ["roles": account.roles.description],
                after: ["roles": roles.description]))
    }

    /// Makes the account of a person who signs in by a provider for the first time. It has no
    /// password. Returns its name.
    private func addAccount(
        _ identity: VerifiedIdentity, _ roles: OperatorRoles, at now: Instant,
        _ tx: DatabaseSession
    ) throws -> String {
        let links = try tx.operatorLinks.all()
        let accounts = try tx.operators.all()
        // Blocked accounts, and those whose groups give nothing any more, do not count.
        let used = accounts.count { $0.blockedAt == nil && !$0.roles.isEmpty }
        guard used + links.count < OperatorService.operatorsMax else {
            throw EngineFailure.limitExceeded(
                what: "operators and links", limit: OperatorService.operatorsMax)
        }
        let name = OperatorName.free(
            like: identity.userName ?? identity.mail ?? "",
            beside: Set(accounts.map(\.name) + links.compactMap(\.operatorName)))
        _ = try tx.operators.add(
            Operator(name: name, roles: roles, createdAt: now), password: "")
        // Without an admin, the link must stay: it is the only way to become one.
        if roles.manageOperators { try tx.operatorLinks.delete(.first) }
        try tx.audit.append(
            audit.entry(
                "operators.join", by: name, subject: name,
                ["roles": roles.description, "provider": identity.issuer]))
        return name
    }
}

extension OperatorName {
    /// Names that logs and the audit use for programs.
    private static let ofPrograms: Set = [
        "server", "developer", "dashboard", "perennial", "openid",
    ]
    private static let numberCharactersMax = 4

    /// A valid name for a new account that resembles a text, and that nobody else has. If the name
    /// is taken, a number is added to it.
    static func free(like text: String, beside taken: Set<String>) -> String {
        let plain = canonical(text).map { isAllowed($0) ? $0 : "-" }
        let begun = plain.drop { !(isAllowed($0) && ($0.isLowercase || $0.isNumber)) }
        let short = String(begun.prefix(charactersMax - numberCharactersMax))
        let name = short.isEmpty ? "operator" : short
        let taken = taken.union(ofPrograms)
        var (found, number) = (name, 1)
        // Ends, because the names in the set are finitely many.
        while taken.contains(found) {
            number += 1
            found = "\(name)-\(number)"
        }
        return found
    }
}
