/// The rules for names and values of attributes. The server refuses a change that breaks a rule. An
/// app can check a change before it sends it.
public struct AttributeRules: Sendable {
    private init() {}

    /// The maximum length of a name, in characters, all of which are ASCII.
    public static let nameCharactersMax = 40
    /// The maximum length of a value, in Unicode scalars.
    public static let valueCharactersMax = 500
    /// The maximum number of changes in one request.
    public static let changesMax = 100

    private static let mailAddress = "$email"
    private static let consentName = "$attConsentStatus"
    private static let consents: Set<String> = [
        "restricted", "denied", "authorized", "notDetermined",
    ]

    /// Why an attribute cannot be stored, as a sentence. Returns nil if it can be stored.
    ///
    /// - Parameter value: the value. Nil for a deletion.
    public static func defect(of name: String, _ value: String?) -> String? {
        guard isWellFormed(name) else {
            return "A name has 1 to \(nameCharactersMax) characters: first a letter, or `$` and a "
                + "letter, then letters, digits, `_` and `-`."
        }
        guard let value else { return nil }
        guard value.unicodeScalars.count <= valueCharactersMax else {
            return "A value has at most \(valueCharactersMax) characters."
        }
        switch name {
        case mailAddress: return isMailAddress(value) ? nil : "The value is not a mail address."
        case consentName:
            return consents.contains(value)
                ? nil : "The value must be one of \(consents.sorted().joined(separator: ", "))."
        default: return nil
        }
    }

    private static func isWellFormed(_ name: String) -> Bool {
        guard name.utf8.count <= nameCharactersMax, name.utf8.allSatisfy({ $0 < 128 }) else {
            return false
        }
        let letters = name.hasPrefix("$") ? name.dropFirst() : name[...]
        guard let first = letters.first, first.isLetter else { return false }
        return letters.allSatisfy { $0.isLetter || $0.isNumber || $0 == "_" || $0 == "-" }
    }

    /// Whether the text has something before and after a single `@`, and no white space. A stricter
    /// rule would refuse addresses that exist.
    private static func isMailAddress(_ text: String) -> Bool {
        let parts = text.split(separator: "@", omittingEmptySubsequences: false)
        return parts.count == 2 && parts.allSatisfy { !$0.isEmpty }
            && !text.contains(where: \.isWhitespace)
    }
}
