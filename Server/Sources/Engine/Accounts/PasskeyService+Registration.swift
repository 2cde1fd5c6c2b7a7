import Crypto
import Ledger
import Passkeys
import Storage

extension PasskeyService {
    // MARK: - Tickets

    /// The value of the cookie in which the browser stores a ticket.
    package func cookie(of ticket: PasskeyTicket) async throws(EngineFailure) -> String {
        ticket.cookie(key: try await sessions.sharedSecret("passkey tickets"))
    }

    /// The ticket in a cookie. Nil if the request has expired, or did not begin at this server.
    package func ticket(inCookie text: String) async throws(EngineFailure) -> PasskeyTicket? {
        PasskeyTicket(
            cookie: text, key: try await sessions.sharedSecret("passkey tickets"),
            now: context.now())
    }

    /// Begins a sign-in with a passkey alone.
    package func signInTicket() -> PasskeyTicket {
        PasskeyTicket(.signIn, of: "", bond: [], at: context.now())
    }

    /// Begins to add a passkey in a session.
    ///
    /// - Throws: ``EngineFailure/invalidOperator(_:)`` if the operator has no password, or the
    ///   maximum number of passkeys.
    package func registrationTicket(
        in session: OperatorSession
    ) async throws(EngineFailure) -> PasskeyTicket {
        let name = session.operatorName
        try await context.read { tx in
            try PasskeyDecisions(tx).requireMayAddPasskey(name)
        }
        return PasskeyTicket(.registration, of: name, bond: session.hash, at: context.now())
    }

    /// What the page of a ticket sends to the authenticator.
    package func request(of ticket: PasskeyTicket) async throws(EngineFailure) -> PasskeyRequest {
        guard let settings else { throw .passkeysOff }
        let name = ticket.operatorName
        guard !name.isEmpty else {
            return PasskeyRequest(
                challenge: Self.text(ofID: ticket.challenge), host: settings.relyingParty.id,
                operatorName: "", user: "", passkeys: [])
        }
        let passkeys = try await context.read { tx in try tx.passkeys.all(of: name) }
        return PasskeyRequest(
            challenge: Self.text(ofID: ticket.challenge), host: settings.relyingParty.id,
            operatorName: name, user: Self.text(ofID: try await handle(of: name)),
            passkeys: passkeys.map { Self.text(ofID: $0.id) })
    }

    /// The bytes by which authenticators recognise an operator. They do not reveal the name (Web
    /// Authentication Level 3, 14.6.1).
    func handle(of name: String) async throws(EngineFailure) -> [UInt8] {
        let key = try await sessions.sharedSecret("passkey handles")
        return Array(
            HMAC<SHA256>.authenticationCode(
                for: Array(name.utf8), using: SymmetricKey(data: key)))
    }

    /// Uses a ticket up. Returns false if it has ended, or was used before, at any server of the
    /// database.
    func use(_ ticket: PasskeyTicket) async throws(EngineFailure) -> Bool {
        try await sessions.use(ticketHash: ticket.hash, until: ticket.until)
    }

    // MARK: - New passkeys

    /// Adds a passkey to the operator of a session. The ticket is used up, whatever the answer
    /// says.
    ///
    /// - Throws: ``EngineFailure/invalidOperator(_:)`` if the answer is refused.
    package func add(
        _ answer: RegistrationAnswer, named title: String, with ticket: PasskeyTicket,
        in session: OperatorSession
    ) async throws(EngineFailure) {
        let name = session.operatorName
        guard ticket.purpose == .registration, ticket.operatorName == name,
            ticket.bond == session.hash
        else { throw .passkeyOutdated }
        guard try await use(ticket) else { throw .passkeyOutdated }
        let passkey = try passkey(in: answer, named: title, with: ticket)
        let entry = added(passkey)
        try await context.transaction { tx in
            // The session may have ended a moment ago. A passkey would outlast it.
            guard try tx.sessions.find(hash: session.hash) != nil else {
                throw EngineFailure.passkeyOutdated
            }
            try PasskeyDecisions(tx).requireMayAddPasskey(name)
            guard try tx.passkeys.add(passkey) else {
                throw EngineFailure.invalidOperator(Self.takenSentence)
            }
            try tx.audit.append(entry)
        }
    }

    /// Adds the first passkey of an operator who needs one to sign in, and begins a session. The
    /// ticket is used up, whatever the answer says. After a refusal it is renewed, but a ticket
    /// that was used before is not.
    package func enrol(
        _ answer: RegistrationAnswer, named title: String, with ticket: PasskeyTicket,
        from place: SignInPlace
    ) async throws(EngineFailure) -> PasskeySignIn {
        guard ticket.purpose == .enrolment, try await use(ticket) else { return .outdated }
        let name = ticket.operatorName
        let passkey: OperatorPasskey
        do throws(EngineFailure) {
            passkey = try self.passkey(in: answer, named: title, with: ticket)
        } catch {
            guard case .invalidOperator(let sentence) = error else { throw error }
            return .refused(sentence: sentence, again: ticket.renewed)
        }
        let (entry, token) = (added(passkey), SessionService.newToken())
        let signedIn = audit.entry(
            "session.sign_in", by: name, ["address": place.address, "passkey": passkey.name])
        let attempt = try await sessions.attempt(with: name, from: place)
        let session = sessions.session(token, of: name, from: place)
        return try await context.transaction { tx in
            // Somebody else who knows the password may have added a passkey a moment ago.
            guard try PasskeyDecisions(tx).isBound(ticket), try tx.passkeys.all(of: name).isEmpty
            else { return .outdated }
            guard try tx.passkeys.add(passkey) else {
                return .refused(sentence: Self.takenSentence, again: ticket.renewed)
            }
            try tx.audit.append(entry)
            try OperatorDecisions(tx).forgive(attempt)
            try sessions.begin(session, from: place, signedIn, tx)
            return .session(token: token)
        }
    }

    private static let takenSentence = "This passkey was added before."

    /// The passkey in an answer, after its verification.
    private func passkey(
        in answer: RegistrationAnswer, named title: String, with ticket: PasskeyTicket
    ) throws(EngineFailure) -> OperatorPasskey {
        guard let settings else { throw .passkeysOff }
        let title = try Self.title(title)
        do throws(PasskeyFailure) {
            let verified = try settings.relyingParty.verify(answer, challenge: ticket.challenge)
            return OperatorPasskey(
                id: verified.credential, operatorName: ticket.operatorName, name: title,
                publicKey: verified.key.encoded, counter: verified.counter,
                createdAt: context.now())
        } catch { throw .invalidOperator("\(error.sentence) Add the passkey again.") }
    }

    private func added(_ passkey: OperatorPasskey) -> RecordedAct {
        audit.entry(
            "account.passkey_add", by: passkey.operatorName, subject: passkey.operatorName,
            ["passkey": passkey.name])
    }
}

extension EngineFailure {
    static var passkeysOff: Self {
        .invalidOperator("Nobody can use a passkey here. docs/passkeys.md says what is missing.")
    }
    static var passkeyOutdated: Self {
        .invalidOperator(
            "This request has ended: it was used before, took longer than ten minutes, or began in "
                + "another window. Begin again.")
    }
}
