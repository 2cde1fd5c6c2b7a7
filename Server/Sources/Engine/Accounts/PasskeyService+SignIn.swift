import Crypto
import Ledger
import Logging
import Passkeys
import Storage

/// The result of a sign-in with a passkey or a recovery code.
package enum PasskeySignIn: Hashable, Sendable {
    /// A new session has begun, with this token.
    case session(token: String)
    /// The request has ended, so the visitor must begin again.
    case outdated
    /// The answer was refused. The sentence says why.
    case refused(sentence: String, again: PasskeyTicket)
    /// Too many attempts have failed, so further attempts are refused until a time.
    case shut(until: Instant, by: SignInLimit)
}

extension PasskeyService {
    /// The name under which sign-ins with a passkey alone are counted. No operator can have it.
    private static let nobody = "* passkey"

    /// Begins a session if a passkey of the operator has signed the challenge of a ticket.
    ///
    /// The checks, in this order: the limit of attempts; the ticket, which is used up; the passkey
    /// and its operator; the answer itself; whether the operator may sign in now.
    package func signIn(
        _ answer: AssertionAnswer, with ticket: PasskeyTicket, from place: SignInPlace
    ) async throws(EngineFailure) -> PasskeySignIn {
        guard let settings, !ticket.purpose.makesPasskey else { return .outdated }
        let attempt = try await attempt(of: ticket, from: place)
        if let shut = try await shut(attempt) { return shut }
        guard try await use(ticket) else { return .outdated }
        guard let passkey = try await passkey(of: answer, ticket) else {
            return Self.unknown(ticket)
        }
        let verified: VerifiedAssertion
        do throws(PasskeyFailure) {
            verified = try settings.relyingParty.verify(
                answer, challenge: ticket.challenge,
                key: PasskeyPublicKey(parsing: passkey.publicKey), counter: passkey.counter)
        } catch {
            try await record(error, of: passkey, place)
            return .refused(sentence: error.sentence, again: ticket.renewed)
        }
        return try await begin(verified, of: passkey, with: ticket, attempt, from: place)
    }

    private func attempt(
        of ticket: PasskeyTicket, from place: SignInPlace
    ) async throws(EngineFailure) -> SignInAttempt {
        switch ticket.purpose {
        case .secondFactor, .enrolment, .registration:
            try await sessions.attempt(with: ticket.operatorName, from: place)
        case .signIn:
            // The name is nobody's, so strangers elsewhere must not use up its attempts.
            SignInAttempt(name: Self.nobody, network: place.network, isFromKnownPlace: true)
        }
    }

    /// Counts an attempt. Returns nil if it is allowed.
    private func shut(_ attempt: SignInAttempt) async throws(EngineFailure) -> PasskeySignIn? {
        switch try await sessions.count(attempt) {
        case .refused(let limit, let until): .shut(until: until, by: limit)
        case .counted: nil
        }
    }

    /// Does not say whether the passkey is unknown, of another operator, or of one who is blocked.
    private static func unknown(_ ticket: PasskeyTicket) -> PasskeySignIn {
        .refused(
            sentence: "This passkey cannot sign you in here. Use another one.",
            again: ticket.renewed)
    }

    /// The passkey with which an answer was signed. Nil if it is unknown, or not of the operator
    /// whom the ticket or the answer names.
    private func passkey(
        of answer: AssertionAnswer, _ ticket: PasskeyTicket
    ) async throws(EngineFailure) -> OperatorPasskey? {
        let found = try await context.read { tx in try tx.passkeys.find(id: answer.credential) }
        guard let found else { return nil }
        let isOwn = try await answer.user == handle(of: found.operatorName)
        switch ticket.purpose {
        case .signIn: return isOwn ? found : nil
        case .secondFactor, .enrolment, .registration:
            guard found.operatorName == ticket.operatorName else { return nil }
            return isOwn || answer.user.isEmpty ? found : nil
        }
    }

    private func begin(
        _ verified: VerifiedAssertion, of passkey: OperatorPasskey, with ticket: PasskeyTicket,
        _ attempt: SignInAttempt, from place: SignInPlace
    ) async throws(EngineFailure) -> PasskeySignIn {
        let (name, token) = (passkey.operatorName, SessionService.newToken())
        let session = sessions.session(token, of: name, from: place)
        let entry = audit.entry(
            "session.sign_in", by: name, ["address": place.address, "passkey": passkey.name])
        return try await context.transaction { tx in
            let isAllowed =
                try ticket.purpose == .signIn
                ? OperatorDecisions(tx).usablePassword(of: name)?.isEmpty == false
                : PasskeyDecisions(tx).isBound(ticket)
            // The passkey may have been used or removed a moment ago.
            guard isAllowed, try tx.passkeys.find(id: passkey.id)?.counter == passkey.counter
            else { return Self.unknown(ticket) }
            try tx.passkeys.recordUse(
                ofPasskey: passkey.id, counter: verified.counter, at: session.createdAt)
            // A passkey that follows a password clears two counted attempts: one for each of them.
            try OperatorDecisions(tx).forgive(attempt, count: ticket.purpose == .signIn ? 1 : 2)
            try sessions.begin(session, from: place, entry, tx)
            return .session(token: token)
        }
    }

    /// Records that a passkey may have been copied. Other failures are not recorded, because
    /// anybody can cause them.
    private func record(
        _ failure: PasskeyFailure, of passkey: OperatorPasskey, _ place: SignInPlace
    ) async throws(EngineFailure) {
        guard case .counterBack(let former, let counter) = failure else { return }
        let entry = audit.entry(
            "account.passkey_refused", by: passkey.operatorName, subject: passkey.operatorName,
            before: ["counter": "\(former)"],
            after: [
                "address": place.address, "counter": "\(counter)", "passkey": passkey.name,
            ])
        try await context.transaction { tx in try tx.audit.append(entry) }
        context.logger.warning(
            "a passkey was refused because its counter did not grow",
            metadata: [
                "operator": .string(passkey.operatorName), "address": .string(place.network),
            ])
    }

    // MARK: - Recovery codes

    /// Begins a session if a recovery code is right, after the password. The code is used up.
    package func signIn(
        recoveryCode typed: String, with ticket: PasskeyTicket, from place: SignInPlace
    ) async throws(EngineFailure) -> PasskeySignIn {
        guard settings != nil, ticket.purpose == .secondFactor else { return .outdated }
        let name = ticket.operatorName
        let attempt = try await attempt(of: ticket, from: place)
        if let shut = try await shut(attempt) { return shut }
        guard try await use(ticket) else { return .outdated }
        let key = try await sessions.sharedSecret(Self.codeSecret)
        let hash = RecoveryCode(typed: typed)?.hash(of: name, key: key)
        let token = SessionService.newToken()
        let session = sessions.session(token, of: name, from: place)
        return try await context.transaction { tx in
            guard let hash, try PasskeyDecisions(tx).isBound(ticket),
                try tx.recoveryCodes.use(hash, of: name, at: session.createdAt)
            else {
                return .refused(
                    sentence: "This recovery code is wrong, or was used before.",
                    again: ticket.renewed)
            }
            let left = try tx.recoveryCodes.countUnused(of: name)
            try OperatorDecisions(tx).forgive(attempt, count: 2)
            let entry = audit.entry(
                "session.sign_in", by: name,
                ["address": place.address, "recovery_codes_left": "\(left)"])
            try sessions.begin(session, from: place, entry, tx)
            return .session(token: token)
        }
    }
}
