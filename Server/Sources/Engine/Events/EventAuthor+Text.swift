import Storage

extension EventAuthor {
    /// The name and the digits of the key, as logs show them, such as `desk (abababab)`.
    package var keyText: String {
        if keyDigits.isEmpty { return keyName }
        return keyName.isEmpty ? keyDigits : "\(keyName) (\(keyDigits))"
    }

    /// The author in words, for example `Mia with the key desk (abababab)`.
    ///
    /// An author without a key is an operator at the dashboard: `Mia at the dashboard`.
    package var text: String {
        if keyDigits.isEmpty { return "\(actor ?? "an unnamed person") at the \(keyName)" }
        return actor.map { "\($0) with the key \(keyText)" } ?? "the key \(keyText)"
    }
}
