import Storage

package typealias EventAuthor = Storage.EventAuthor

extension EventAuthor {
    /// The key as logs name it, such as `desk (abababab)`.
    package var keyText: String { keyName.isEmpty ? keyDigits : "\(keyName) (\(keyDigits))" }

    /// For example `Mia with the key desk (abababab)`.
    package var text: String {
        actor.map { "\($0) with the key \(keyText)" } ?? "the key \(keyText)"
    }
}
