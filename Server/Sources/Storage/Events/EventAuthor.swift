/// The author of the request that caused an event: the key, and the person whom a server named.
package struct EventAuthor: Hashable, Sendable {
    /// The number of hexadecimal digits of a key's hash that identify it.
    package static let keyDigitsCount = 8

    /// The name of the key. The name may be empty.
    package var keyName: String
    /// The first hexadecimal digits of the key's hash.
    package var keyDigits: String
    /// The name of the person for whom the app's server sent the request. The app's server gives
    /// this name.
    package var actor: String?

    package init(keyName: String, keyDigits: String, actor: String? = nil) {
        self.keyName = keyName
        self.keyDigits = keyDigits
        self.actor = actor
    }

    /// The author of the request that the present task answers. All code that writes events reads
    /// this value, so that the functions between the route and the log need not pass it on.
    @TaskLocal package static var current: EventAuthor?
}
