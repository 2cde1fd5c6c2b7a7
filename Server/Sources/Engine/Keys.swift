import Crypto
import Ledger
import Storage

package typealias KeyKind = Storage.KeyKind
package typealias KeyHolder = Storage.KeyHolder
package typealias StoredKey = Storage.StoredKey

extension Engine {
    /// Random bytes in a key.
    private static let keyBytes = 24

    /// Makes a key. It is returned once: only its SHA-256 is kept.
    package func createKey(
        app: AppID, kind: KeyKind, name: String
    ) async throws(EngineFailure) -> String {
        let random = SymmetricKey(size: SymmetricKeySize(bitCount: Self.keyBytes * 8))
        let text = random.withUnsafeBytes { Hexadecimal.text($0) }
        let key = "\(kind.prefix)_\(app)_\(text)"
        try await keep(key: key, app: app, kind: kind, name: name)
        return key
    }

    /// Keeps a key of one's own choosing: for development only, where a fixed one is handy.
    /// Harmless to repeat.
    package func keep(
        key: String, app: AppID, kind: KeyKind, name: String
    ) async throws(EngineFailure) {
        _ = try self.app(app)
        let now = now()
        let hash = Array(SHA256.hash(data: Array(key.utf8)))
        try await transaction { tx in
            try tx.addKey(hash: hash, app: app, kind: kind, name: name, at: now)
        }
    }

    /// Whom a key lets in; nil for a key that was never made. Compared by hash, so that how long it
    /// takes tells nothing.
    package func keyHolder(_ key: String) async throws(EngineFailure) -> KeyHolder? {
        let hash = Array(SHA256.hash(data: Array(key.utf8)))
        let found = try await reading { tx in
            try tx.key(hash: hash)
        }
        return found.flatMap { apps[$0.app] == nil ? nil : $0 }
    }

    /// What is kept of an app's keys, the eldest first.
    package func keys(of app: AppID) async throws(EngineFailure) -> [StoredKey] {
        _ = try self.app(app)
        return try await reading { tx in try tx.keys(of: app) }
    }

    /// Takes a key away. A server that has let it in remembers it for a short while. Harmless to
    /// repeat.
    package func revoke(_ key: StoredKey) async throws(EngineFailure) {
        try await transaction { tx in try tx.removeKey(hash: key.hash, of: key.app) }
    }

    /// Whether an app has any key at all: without one nobody can ask.
    package func hasKeys(_ app: AppID) async throws(EngineFailure) -> Bool {
        try await reading { tx in try tx.keyCount(of: app) > 0 }
    }
}

extension KeyKind {
    fileprivate var prefix: String {
        switch self {
        case .app: "pk"
        case .secret: "sk"
        }
    }
}
