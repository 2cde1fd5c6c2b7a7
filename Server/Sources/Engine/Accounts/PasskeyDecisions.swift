import Crypto
import Ledger
import Storage

/// Decides who may add a passkey, and whether a sign-in needs another step.
struct PasskeyDecisions {
    let tx: DatabaseSession

    init(_ tx: DatabaseSession) { self.tx = tx }

    /// What a sign-in still needs after the right password. Nil if it needs nothing.
    func stepAfterPassword(
        of name: String, _ settings: PasskeySettings?
    ) throws -> PasskeyTicket.Purpose? {
        guard let settings else { return nil }
        guard try tx.passkeys.all(of: name).isEmpty else { return .secondFactor }
        return settings.areRequired ? .enrolment : nil
    }

    /// Whether the operator of a ticket is not blocked, and has the password that the person typed
    /// when the ticket was made.
    func isBound(_ ticket: PasskeyTicket) throws -> Bool {
        let password = try OperatorDecisions(tx).usablePassword(of: ticket.operatorName)
        return password.map(Self.bond) == ticket.bond
    }

    /// What a ticket stores of a password's hash.
    static func bond(of password: String) -> [UInt8] {
        Array(SHA256.hash(data: Array(password.utf8)))
    }

    /// Requires that an operator signs in with a password, and may have another passkey. An
    /// operator whom a provider signs in has none: with a passkey, the operator could sign in after
    /// the provider has removed the person's groups.
    func requireMayAddPasskey(_ name: String) throws {
        guard try OperatorDecisions(tx).usablePassword(of: name)?.isEmpty == false else {
            throw EngineFailure.invalidOperator(
                "Only operators who sign in with a password here have passkeys.")
        }
        guard try tx.passkeys.all(of: name).count < PasskeyService.passkeysMax else {
            throw EngineFailure.invalidOperator(
                "You have \(PasskeyService.passkeysMax) passkeys. Remove one first.")
        }
    }
}
