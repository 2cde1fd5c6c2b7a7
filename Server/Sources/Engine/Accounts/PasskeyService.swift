import AppStoreFormats
import Crypto
import Ledger
import Passkeys
import Storage

/// The passkeys and recovery codes of an operator.
package struct PasskeyOverview: Hashable, Sendable {
    package var passkeys: [OperatorPasskey]
    /// The number of recovery codes that were not used.
    package var codesLeft: Int
}

/// What a page sends to an authenticator. All bytes are in base64url without padding.
package struct PasskeyRequest: Hashable, Sendable {
    package var challenge: String
    /// The host for which passkeys are made.
    package var host: String
    /// The operator's name, and the handle by which authenticators recognise the operator. Both are
    /// empty for a sign-in with a passkey alone.
    package var operatorName: String
    package var user: String
    /// The operator's passkeys: one of them must sign, or none of their authenticators may make
    /// another.
    package var passkeys: [String]
}

/// The passkeys and recovery codes with which operators sign in.
package struct PasskeyService: Sendable {
    let context: Context
    let audit: AuditService
    let sessions: SessionService

    /// The maximum number of passkeys of one operator.
    package static let passkeysMax = 10
    package static let nameCharactersMax = 60
    /// How long after a sign-in passkeys and codes can be changed without the password.
    package static let recentFor = Duration.seconds(600)

    /// Nil if nobody can use a passkey here.
    package var settings: PasskeySettings? { sessions.operatorSettings.passkeys }

    /// The passkeys of an operator, and how many recovery codes are left.
    package func overview(of name: String) async throws(EngineFailure) -> PasskeyOverview {
        try await context.read { tx in
            PasskeyOverview(
                passkeys: try tx.passkeys.all(of: name),
                codesLeft: try tx.recoveryCodes.countUnused(of: name))
        }
    }

    // MARK: - Confirmation

    /// Whether a session began so recently that its operator need not type the password again.
    package func isRecent(_ session: OperatorSession) -> Bool {
        session.createdAt + Self.recentFor > context.now()
    }

    /// Confirms that the person at a session is its operator: by a recent sign-in, or by the
    /// password. Attempts are counted like sign-ins.
    ///
    /// - Returns: nil if the person is confirmed; otherwise why the password was not accepted.
    package func confirm(
        _ session: OperatorSession, password: String?, at place: SignInPlace
    ) async throws(EngineFailure) -> SignInResult? {
        guard !isRecent(session) else { return nil }
        return try await sessions.check(
            password ?? "", of: session.operatorName, at: place)
    }

    // MARK: - Changes

    /// Gives a passkey another name. Idempotent.
    package func rename(
        _ id: String, of name: String, to title: String
    ) async throws(EngineFailure) {
        let (bytes, title) = (try Self.bytes(ofID: id), try Self.title(title))
        let audit = audit
        try await context.transaction { tx in
            guard let former = try tx.passkeys.find(id: bytes), former.operatorName == name else {
                throw EngineFailure.unknownPasskey
            }
            guard former.name != title else { return }
            _ = try tx.passkeys.rename(bytes, of: name, to: title)
            try tx.audit.append(
                audit.entry(
                    "account.passkey_name", by: name, subject: name,
                    before: ["passkey": former.name], after: ["passkey": title]))
        }
    }

    /// Removes a passkey. With the last one, the recovery codes end, too.
    package func remove(_ id: String, of name: String) async throws(EngineFailure) {
        let bytes = try Self.bytes(ofID: id)
        let audit = audit
        try await context.transaction { tx in
            guard let former = try tx.passkeys.find(id: bytes),
                try tx.passkeys.delete(bytes, of: name)
            else { throw EngineFailure.unknownPasskey }
            let left = try tx.passkeys.all(of: name).count
            if left == 0 { try tx.recoveryCodes.delete(of: name) }
            try tx.audit.append(
                audit.entry(
                    "account.passkey_remove", by: name, subject: name,
                    before: ["passkey": former.name], after: ["passkeys": "\(left)"]))
        }
    }

    /// Removes all passkeys and recovery codes of an operator, who then signs in with the password.
    /// Returns how many passkeys there were. Idempotent.
    package func removeAll(of name: String, by author: String) async throws(EngineFailure) -> Int {
        let name = OperatorName.canonical(name)
        let audit = audit
        return try await context.transaction { tx in
            try OperatorDecisions(tx).requireMayManageOperators(author)
            guard try tx.operators.named(name) != nil else {
                throw EngineFailure.unknownOperator(name)
            }
            let count = try tx.passkeys.delete(of: name)
            try tx.recoveryCodes.delete(of: name)
            guard count > 0 else { return 0 }
            try tx.audit.append(
                audit.entry(
                    "operators.passkeys_remove", by: author, subject: name,
                    before: ["passkeys": "\(count)"], after: ["passkeys": "0"]))
            return count
        }
    }

    /// Makes new recovery codes for an operator who has a passkey. Former codes end. Returns the
    /// codes as they are shown, once.
    ///
    /// - Throws: ``EngineFailure/invalidOperator(_:)`` if the operator has no passkey.
    package func makeRecoveryCodes(
        of name: String, by author: String
    ) async throws(EngineFailure) -> [String] {
        let name = OperatorName.canonical(name)
        let (codes, now) = ((0..<RecoveryCode.count).map { _ in RecoveryCode() }, context.now())
        let key = try await sessions.sharedSecret(Self.codeSecret)
        let hashes = codes.map { $0.hash(of: name, key: key) }
        let entry = audit.entry(
            "account.recovery_codes", by: author, subject: name, ["codes": "\(codes.count)"])
        try await context.transaction { tx in
            if author != name { try OperatorDecisions(tx).requireMayManageOperators(author) }
            guard try tx.operators.named(name) != nil else {
                throw EngineFailure.unknownOperator(name)
            }
            guard try !tx.passkeys.all(of: name).isEmpty else {
                throw EngineFailure.invalidOperator(
                    "\(name) has no passkey, so the password alone is enough. Add a passkey first.")
            }
            try tx.recoveryCodes.replace(of: name, with: hashes, at: now)
            try tx.audit.append(entry)
        }
        return codes.map(\.shown)
    }

    /// What the key of the stored codes is for: see ``SessionService/sharedSecret(_:)``.
    static let codeSecret = "recovery codes"

    // MARK: - Texts

    /// The name of a passkey, without spaces around it.
    static func title(_ text: String) throws(EngineFailure) -> String {
        let title = OperatorName.trimmed(text)
        guard (1...nameCharactersMax).contains(title.count),
            title.unicodeScalars.allSatisfy({ $0.properties.generalCategory != .control })
        else {
            throw .invalidOperator(
                "Give the passkey a name with at most \(nameCharactersMax) characters.")
        }
        return title
    }

    /// The text of a passkey's id in forms: base64url without padding.
    package static func text(ofID id: [UInt8]) -> String {
        String(decoding: Base64.url.encode(id), as: UTF8.self)
    }

    private static func bytes(ofID text: String) throws(EngineFailure) -> [UInt8] {
        guard text.utf8.count <= Base64.url.count(of: RelyingParty.idBytesMax),
            let bytes = Base64.url.decode(Array(text.utf8))
        else { throw .unknownPasskey }
        return bytes
    }
}

extension EngineFailure {
    static var unknownPasskey: Self {
        .invalidOperator("You have no such passkey any more. Load the page again.")
    }
}
