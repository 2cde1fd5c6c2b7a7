import Crypto
import Ledger
import Storage

/// The address and the browser with which a person signs in.
package struct SignInPlace: Hashable, Sendable {
    static let agentCharactersMax = 200

    package var address: String
    /// The network of the address. A network counts like one address, because one household usually
    /// has a whole IPv6 network.
    package var network: String
    /// The name that the browser gives itself (its `User-Agent`).
    package var agent: String

    /// - Parameter network: nil if the network is the address itself.
    package init(address: String, network: String? = nil, agent: String) {
        self.address = address
        self.network = network ?? address
        self.agent = String(agent.prefix(Self.agentCharactersMax))
    }
}

/// The result of a sign-in with a name and a password.
package enum SignInResult: Hashable, Sendable {
    /// A new session has begun, with this token.
    case session(token: String)
    /// The password is right. The sign-in needs a passkey, too, or a recovery code.
    case unfinished(PasskeyTicket)
    /// The name and the password do not match. The answer does not say which of the two is wrong.
    case wrong(triesLeft: Int)
    /// Too many attempts have failed, so further attempts are refused until a time.
    case shut(until: Instant, by: SignInLimit)

    /// The token of the session that has begun. Nil if none has.
    package var token: String? { if case .session(let token) = self { token } else { nil } }
}

/// An operator with the session of a request.
package struct SignedInOperator: Hashable, Sendable {
    package var account: Operator
    package var session: OperatorSession
}

/// Operators' sign-ins: sessions, passwords, failed attempts, and form tokens.
package struct SessionService: Sendable {
    let context: Context
    let audit: AuditService
    package let operatorSettings: OperatorSettings

    private static let tokenBytes = 32

    // MARK: - Sessions

    /// Begins a session if the password is the password of the operator. An operator who has a
    /// passkey, or needs one, gets a ticket for the next step instead.
    ///
    /// An attempt with a name that has no account takes as long as any other attempt, and gets the
    /// same answer as a wrong password. Attempts are counted in the database, so that neither a
    /// restart nor another server resets the count. An attempt for which no thread is free is not
    /// counted.
    ///
    /// - Throws: ``EngineFailure/busy`` if too many passwords are being checked.
    package func signIn(
        as typed: String, password: String, from place: SignInPlace
    ) async throws(EngineFailure) -> SignInResult {
        let name = OperatorName.canonical(typed)
        let attempt = try await attempt(with: name, from: place)
        let thread = try context.passwords.reserve(
            for: place.network, isKnown: attempt.isFromKnownPlace)
        defer { thread.release() }
        let count = try await count(attempt)
        guard case .counted = count,
            let stored = try await storedPassword(of: name, matching: password, on: thread)
        else { return count.failure }
        let token = Self.newToken()
        let session = session(token, of: name, from: place)
        let entry = audit.entry("session.sign_in", by: name, ["address": place.address])
        return try await context.transaction { tx in
            // The password may have been changed meanwhile, or the operator blocked.
            guard try OperatorDecisions(tx).usablePassword(of: name) == stored else {
                return count.failure
            }
            // Only the whole sign-in makes earlier attempts forgotten.
            if let ticket = try ticket(after: stored, of: name, tx) { return .unfinished(ticket) }
            try OperatorDecisions(tx).forgive(attempt)
            try begin(session, from: place, entry, tx)
            return .session(token: token)
        }
    }

    /// An attempt with a name, from a place. It is from a known place if the operator has signed in
    /// recently from its network.
    func attempt(
        with name: String, from place: SignInPlace
    ) async throws(EngineFailure) -> SignInAttempt {
        let since = context.now() - Self.placesLast
        let isKnown = try await context.read { tx in
            try tx.signIns.hasSignedIn(name, from: place.network, since: since)
        }
        return SignInAttempt(name: name, network: place.network, isFromKnownPlace: isKnown)
    }

    /// The ticket for the next step after the right password. Nil if the sign-in needs no other
    /// step.
    ///
    /// - Parameter password: the stored hash of the password.
    func ticket(
        after password: String, of name: String, _ tx: DatabaseSession
    ) throws -> PasskeyTicket? {
        try PasskeyDecisions(tx).stepAfterPassword(of: name, operatorSettings.passkeys).map {
            PasskeyTicket(
                $0, of: name, bond: PasskeyDecisions.bond(of: password), at: context.now())
        }
    }

    /// Adds a new session, and records the sign-in.
    func begin(
        _ session: OperatorSession, from place: SignInPlace, _ entry: RecordedAct,
        _ tx: DatabaseSession
    ) throws {
        let now = session.createdAt
        try tx.sessions.deleteEnded(usedBefore: now - operatorSettings.idle, at: now)
        try tx.sessions.add(session)
        try OperatorDecisions(tx).recordSignIn(of: session.operatorName, from: place, at: now)
        try tx.audit.append(entry)
    }

    /// The operator and the session with a token. Returns nil if the session has ended, or if the
    /// operator is blocked.
    ///
    /// - Parameter isUse: whether to count this as a use of the session, which postpones its end.
    package func signedInOperator(
        token: String, isUse: Bool = true
    ) async throws(EngineFailure) -> SignedInOperator? {
        let (hash, now) = (Self.hash(ofToken: token), context.now())
        let found = try await context.read { tx -> SignedInOperator? in
            guard let session = try tx.sessions.find(hash: hash),
                let account = try tx.operators.named(session.operatorName)
            else { return nil }
            return SignedInOperator(account: account, session: session)
        }
        guard let found, found.account.blockedAt == nil, found.session.until > now,
            found.session.usedAt + operatorSettings.idle > now
        else { return nil }
        if isUse,
            now.milliseconds - found.session.usedAt.milliseconds
                >= OperatorSession.secondsBetweenUses * 1_000
        {
            try await context.transaction { tx in
                try tx.sessions.recordUse(ofSession: hash, at: now)
            }
        }
        return found
    }

    /// Ends a session. Idempotent.
    package func signOut(token: String) async throws(EngineFailure) {
        let hash = Self.hash(ofToken: token)
        try await context.transaction { tx in try tx.sessions.delete(hash: hash) }
    }

    /// Ends every session of an operator, and withdraws two kinds of links: links that set the
    /// operator's password, and links that the operator has made. Idempotent.
    ///
    /// - Parameter token: the session that continues. If nil, all sessions end.
    package func signOutEverywhere(
        _ name: String, except token: String? = nil, by author: String
    ) async throws(EngineFailure) {
        let hash = token.map(Self.hash)
        let entry = audit.entry("operators.sign_out", by: author, subject: name)
        try await context.transaction { tx in
            if author != name { try OperatorDecisions(tx).requireMayManageOperators(author) }
            let sessions = try tx.sessions.delete(of: name, except: hash)
            let links = try OperatorDecisions(tx).deleteLinks(thatReturn: name)
            guard sessions + links > 0 else { return }
            try tx.audit.append(entry)
        }
    }

    /// The sessions of an operator that have not ended, the newest first.
    package func all(of name: String) async throws(EngineFailure) -> [OperatorSession] {
        let (now, idle) = (context.now(), operatorSettings.idle)
        return try await context.read { tx in try tx.sessions.all(of: name) }
            .filter { $0.until > now && $0.usedAt + idle > now }
    }

    /// The token that every form about an app contains in a session. The token prevents other sites
    /// from sending the form.
    package static func formToken(ofSession token: String, app: AppID) -> String {
        let key = SymmetricKey(data: Array(token.utf8))
        return Hexadecimal.text(
            Array(HMAC<SHA256>.authenticationCode(for: Array("form \(app)".utf8), using: key)))
    }

    /// Whether the token that was sent with a form equals the token of the session. Takes the same
    /// time for every wrong token.
    package static func isFormToken(_ sent: String?, of own: String) -> Bool {
        guard let sent else { return false }
        return SymmetricKey(data: Array(sent.utf8)) == SymmetricKey(data: Array(own.utf8))
    }

    /// The token that every form contains if a proxy has signed the operator in. All servers of one
    /// database make the same token.
    package func formToken(
        ofProxied name: String, app: AppID
    ) async throws(EngineFailure) -> String {
        Self.formToken(
            ofSession: "\(Hexadecimal.text(try await sharedSecret("forms"))) \(name)", app: app)
    }

    /// A random secret that all servers of one database share. The first call makes it.
    ///
    /// - Parameter use: what the secret is for.
    func sharedSecret(_ use: String) async throws(EngineFailure) -> [UInt8] {
        let (fresh, now) = (Self.newToken(), context.now())
        let none = AppID(rawValue: "")
        var secret = try await context.read { tx in try tx.secrets.find(use, of: none) }
        if secret == nil {
            secret = try await context.transaction { tx in
                try tx.secrets.add(Array(fresh.utf8), use, of: none, at: now)
                return try tx.secrets.find(use, of: none)
            }
        }
        guard let secret else { throw .storage("the secret of \(use) was not stored") }
        return secret
    }

    // MARK: - Passwords

    /// Whether an operator can sign in with a password. Operators whom a provider or a proxy signs
    /// in have none at first.
    package func hasPassword(_ name: String) async throws(EngineFailure) -> Bool {
        try await context.read { tx in try tx.operators.password(of: name) }?.isEmpty == false
    }

    /// Changes an operator's own password, and ends all other sessions of the operator. Also
    /// withdraws links that set the operator's password, and links that the operator has made.
    ///
    /// - Returns: nil if the password was changed; otherwise why the former password was not
    ///   accepted.
    package func changePassword(
        of name: String, from former: String, to password: String, keeping token: String,
        at place: SignInPlace
    ) async throws(EngineFailure) -> SignInResult? {
        try PasswordHash.requireAllowed(password, for: name)
        let attempt = try await attempt(with: name, from: place)
        let thread = try context.passwords.reserve(for: place.network, isKnown: true)
        defer { thread.release() }
        let count = try await count(attempt)
        guard case .counted = count,
            let stored = try await storedPassword(of: name, matching: former, on: thread)
        else { return count.failure }
        let text = try await passwordText(password, on: thread)
        let hash = Self.hash(ofToken: token)
        let entry = audit.entry("account.password", by: name, subject: name)
        return try await context.transaction { tx in
            guard try OperatorDecisions(tx).usablePassword(of: name) == stored else {
                return count.failure
            }
            try OperatorDecisions(tx).forgive(attempt)
            try tx.operators.setPassword(text, of: name)
            try tx.sessions.delete(of: name, except: hash)
            try OperatorDecisions(tx).deleteLinks(thatReturn: name)
            try tx.audit.append(entry)
            return nil
        }
    }

    /// Checks the password of an operator who has a session. Attempts are counted like sign-ins.
    ///
    /// - Returns: nil if the password is right; otherwise why it was not accepted.
    func check(
        _ password: String, of name: String, at place: SignInPlace
    ) async throws(EngineFailure) -> SignInResult? {
        let attempt = try await attempt(with: name, from: place)
        let thread = try context.passwords.reserve(for: place.network, isKnown: true)
        defer { thread.release() }
        let count = try await count(attempt)
        guard case .counted = count,
            try await storedPassword(of: name, matching: password, on: thread) != nil
        else { return count.failure }
        try await context.transaction { tx in try OperatorDecisions(tx).forgive(attempt) }
        return nil
    }

    /// The text that is stored for a password.
    func passwordText(
        _ password: String, on thread: PasswordThreads.Place
    ) async throws(EngineFailure) -> String {
        let cost = operatorSettings.passwordCost
        return try await thread.run { try PasswordHash(password, cost: cost).text }
    }

    /// The stored hash of the password of an operator who is not blocked. Nil if the password is
    /// wrong or the operator unknown.
    private func storedPassword(
        of name: String, matching password: String, on thread: PasswordThreads.Place
    ) async throws(EngineFailure) -> String? {
        let text = try await context.read { tx in try OperatorDecisions(tx).usablePassword(of: name)
        }
        let stored = text.flatMap { PasswordHash($0) }
        let hash = stored ?? .decoy(cost: operatorSettings.passwordCost)
        let tried = String(password.prefix(PasswordHash.bytesMax))
        let isRight = try await thread.run { try hash.matches(tried) }
        return isRight && stored != nil ? text : nil
    }

    // MARK: - Tokens

    /// A token of a session or a link: 64 hexadecimal digits.
    static func newToken() -> String {
        SymmetricKey(size: SymmetricKeySize(bitCount: tokenBytes * 8))
            .withUnsafeBytes { Hexadecimal.text($0) }
    }

    static func hash(ofToken token: String) -> [UInt8] {
        Array(SHA256.hash(data: Array(token.utf8)))
    }

    func session(_ token: String, of name: String, from place: SignInPlace) -> OperatorSession {
        let now = context.now()
        return OperatorSession(
            hash: Self.hash(ofToken: token), operatorName: name, createdAt: now,
            until: now + operatorSettings.lifetime, address: place.address, agent: place.agent)
    }
}
