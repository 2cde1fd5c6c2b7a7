import Engine
import HTTPTypes
import Hummingbird
import Logging
import Storage
import Synchronization

/// The author of a request, for its log line: the key, and the person whom a support program names.
final class RequestAuthor: Sendable {
    /// The maximum length of an actor's name.
    static let actorBytesMax = 100

    private let metadata = Mutex<Logger.Metadata>([:])
    private let secret = Mutex(false)

    /// Whether the request has a valid secret key.
    var hasSecretKey: Bool { secret.withLock { $0 } }

    /// The author's fields in the log line; empty before the key is known.
    var logMetadata: Logger.Metadata { metadata.withLock { $0 } }

    /// Records an operator of the dashboard.
    func record(operator name: String) { metadata.withLock { $0["operator"] = .string(name) } }

    /// Returns the author in the form of the event log.
    @discardableResult
    func record(_ key: StoredKey, actor: String?) -> EventAuthor {
        secret.withLock { $0 = key.kind == .secret }
        let digits = Hexadecimal.text(key.hash).prefix(EventAuthor.keyDigitsCount)
        let author = EventAuthor(keyName: key.name, keyDigits: String(digits), actor: actor)
        metadata.withLock { metadata in
            metadata["key"] = .string(author.keyText)
            if let actor { metadata["actor"] = .string(actor) }
        }
        return author
    }
}

extension Request {
    /// The name of the person for whom a server sends the request (`Perennial-Actor`), as the
    /// server writes it. Returns nil if there is no name.
    ///
    /// - Throws: ``ProblemError`` if the name is too long, or contains characters other than
    ///   printable ASCII.
    func actor() throws -> String? {
        guard let actor = headers[.actor] else { return nil }
        guard (1...RequestAuthor.actorBytesMax).contains(actor.utf8.count),
            actor.utf8.allSatisfy({ (0x20...0x7E).contains($0) })
        else { throw ProblemError(.actorNotPlain(bytesMax: RequestAuthor.actorBytesMax)) }
        return actor
    }
}

extension HTTPField.Name {
    fileprivate static let actor = wellFormed("Perennial-Actor")
}
