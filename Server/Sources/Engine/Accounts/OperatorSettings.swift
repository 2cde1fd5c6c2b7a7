import Ledger

/// How long sessions and links last, and how expensive each check of a password is.
package struct OperatorSettings: Hashable, Sendable {
    /// A session ends after this time without use.
    package var idle: Duration
    /// A session ends after this time, even if it is in use.
    package var lifetime: Duration
    package var passwordCost: PasswordHash.Cost
    /// Nil if nobody can use a passkey.
    package var passkeys: PasskeySettings?

    /// How long an unused link works.
    package static let linkLifetime = Duration.days(3)

    package init(
        idle: Duration = .hours(12), lifetime: Duration = .days(14),
        passwordCost: PasswordHash.Cost = .usual, passkeys: PasskeySettings? = nil
    ) {
        self.idle = idle
        self.lifetime = lifetime
        self.passwordCost = passwordCost
        self.passkeys = passkeys
    }
}

/// The rules for the names of operators.
enum OperatorName {
    static let charactersMax = 64
    private static let marks: Set<Character> = [".", "_", "-", "@", "+"]

    /// The form in which the names of operators are compared: names that differ only in case are
    /// the same name. Only ASCII letters are converted, so the Kelvin sign does not become a k.
    static func canonical(_ text: String) -> String {
        trimmed(text.map { $0.isASCII ? $0.lowercased() : String($0) }.joined())
    }

    /// A text without the spaces around it.
    static func trimmed(_ text: String) -> String {
        String(text.drop { $0 == " " }.reversed().drop { $0 == " " }.reversed())
    }

    /// - Throws: ``EngineFailure/invalidOperator(_:)`` if the name is not allowed.
    static func valid(_ text: String) throws(EngineFailure) -> String {
        let name = canonical(text)
        guard (1...charactersMax).contains(name.count), isLetter(name.first),
            name.allSatisfy(isAllowed)
        else {
            throw .invalidOperator(
                "Use 1 to \(charactersMax) small letters, digits, or . _ - @ +. Begin with a "
                    + "letter or a digit.")
        }
        return name
    }

    /// Whether a name may contain a character.
    static func isAllowed(_ character: Character) -> Bool {
        isLetter(character) || marks.contains(character)
    }

    private static func isLetter(_ character: Character?) -> Bool {
        guard let character else { return false }
        return character.isASCII && (character.isLowercase || character.isNumber)
    }
}

extension PasswordHash {
    /// - Throws: ``EngineFailure/invalidOperator(_:)`` if a password is not allowed for an
    ///   operator.
    static func requireAllowed(
        _ password: String, for name: String
    ) throws(EngineFailure) {
        guard password.count >= charactersMin, password.utf8.count <= bytesMax else {
            throw .invalidOperator(
                "Use at least \(charactersMin) characters, and at most \(bytesMax) bytes, for the "
                    + "password.")
        }
        guard OperatorName.canonical(password) != name, Set(password).count > 3 else {
            throw .invalidOperator("This password is too easy to guess. Choose another.")
        }
    }
}
