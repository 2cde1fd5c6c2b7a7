import Crypto
import Ledger
import Storage

/// The API keys of apps: makes, finds and revokes them, and records their use.
package struct KeyService: Sendable {
    let context: Context

    /// The number of random bytes in a key.
    private static let keyBytes = 24

    /// Creates a key, and returns it. Later the key cannot be read again, because the database
    /// stores only its SHA-256.
    ///
    /// - Parameter scopes: what a secret key may be used for.
    /// - Parameter until: when the key ends; nil if the key has no end.
    package func create(
        app: AppID, kind: KeyKind, name: String, scopes: Set<KeyScope> = [.admin],
        until: Instant? = nil
    ) async throws(EngineFailure) -> String {
        let random = SymmetricKey(size: SymmetricKeySize(bitCount: Self.keyBytes * 8))
        let text = random.withUnsafeBytes { Hexadecimal.text($0) }
        let key = "\(kind.prefix)_\(app)_\(text)"
        try await add(
            key: key, app: app, kind: kind, name: name, scopes: scopes, until: until)
        return key
    }

    /// Adds a key with a given value. For development only, where a fixed key is convenient.
    /// Idempotent.
    package func add(
        key: String, app: AppID, kind: KeyKind, name: String, scopes: Set<KeyScope> = [.admin],
        until: Instant? = nil
    ) async throws(EngineFailure) {
        _ = try self.context.app(app)
        let now = context.now()
        let hash = Self.hash(of: key)
        try await context.transaction { tx in
            try tx.keys.add(
                hash: hash, app: app, kind: kind, name: name, scopes: scopes, until: until, at: now)
        }
    }

    /// The SHA-256 of a key. The database stores this hash, not the key.
    package static func hash(of key: String) -> [UInt8] {
        Array(SHA256.hash(data: Array(key.utf8)))
    }

    /// The stored data of a key. Returns nil if the key does not exist. The lookup is by hash, so
    /// its duration reveals nothing about the key.
    package func holder(_ key: String) async throws(EngineFailure) -> StoredKey? {
        let hash = Self.hash(of: key)
        let found = try await context.read { tx in
            try tx.keys.find(hash: hash)
        }
        return found.flatMap { context.apps[$0.app] == nil ? nil : $0 }
    }

    /// Whether a moment, such as the end of a key, has come.
    package func hasPassed(_ moment: Instant) -> Bool { moment <= context.now() }

    /// The record of a use of a key now. Nil if a use within the last hour was recorded already.
    package func use(of key: StoredKey) -> KeyUse? { KeyUse(of: key, at: context.now()) }

    /// Records when keys were used. Idempotent.
    package func record(_ uses: [KeyUse]) async throws(EngineFailure) {
        guard !uses.isEmpty else { return }
        try await context.transaction { tx in
            for use in uses { try tx.keys.record(use) }
        }
    }

    /// The stored keys of an app, oldest first.
    package func all(of app: AppID) async throws(EngineFailure) -> [StoredKey] {
        _ = try self.context.app(app)
        return try await context.read { tx in try tx.keys.all(of: app) }
    }

    /// The stored keys of all configured apps.
    package func all() async throws(EngineFailure) -> [StoredKey] {
        let apps = context.appIDs
        return try await context.read { tx in
            var keys: [StoredKey] = []
            for app in apps { keys += try tx.keys.all(of: app) }
            return keys
        }
    }

    /// Revokes a key. A server that has accepted the key before caches it for a short time.
    /// Idempotent.
    package func revoke(_ key: StoredKey) async throws(EngineFailure) {
        try await context.transaction { tx in try tx.keys.remove(hash: key.hash, of: key.app) }
    }

    /// Whether an app has any key. Without a key, no request can be authorised.
    package func hasKeys(_ app: AppID) async throws(EngineFailure) -> Bool {
        try await context.read { tx in try tx.keys.count(of: app) > 0 }
    }
}

extension KeyKind {
    package var prefix: String {
        switch self {
        case .app: "pk"
        case .secret: "sk"
        }
    }
}
