import Engine
import Storage
import Synchronization

/// Caches the holders of keys for a short time, so that not every request needs a query.
///
/// Only keys that exist are cached, so made-up keys take no memory. A revoked key keeps working
/// for at most `lifeSeconds`.
///
/// The cache also contains the kind of each key, and keeps it longer than the key's holder. The
/// kind authorizes no request. It only decides which limit applies to a request before the key of
/// the request is looked up.
package final class KeyCache: Sendable {
    static let keysMax = 1024
    package static let lifeSeconds = 30
    static let keyBytesMax = 200
    /// The maximum number of keys whose kind is stored. Each takes about 200 bytes, so all of them
    /// take about 3 MB.
    static let knownMax = 16_384

    private struct Entry {
        var holder: StoredKey
        var until: ContinuousClock.Instant
    }

    private let entries = Mutex<[String: Entry]>([:])
    private let uses = Mutex<[[UInt8]: KeyUse]>([:])
    private let known = Mutex(KnownKeys(max: knownMax))
    private let refused: Mutex<Set<String>>

    /// - Parameter refused: keys that are rejected even if the database has them.
    init(refused: Set<String> = []) { self.refused = Mutex(refused) }

    /// Replaces the set of rejected keys, and empties the cache, so that every other key is looked
    /// up again. The known keys stay.
    func replace(refused: Set<String>) {
        self.refused.withLock { $0 = refused }
        entries.withLock { $0.removeAll() }
    }

    func holder(of key: String, in engine: Engine) async throws(EngineFailure) -> StoredKey? {
        guard key.utf8.count <= Self.keyBytesMax, !refused.withLock({ $0.contains(key) }) else {
            return nil
        }
        if let holder = cachedHolder(key) { return holder }
        // Uses the machine's clock, because the engine's virtual time may stand still or jump.
        let now = ContinuousClock.now
        guard let holder = try await engine.keys.holder(key) else {
            _ = entries.withLock { $0.removeValue(forKey: key) }
            known.withLock { $0.remove(KeyService.hash(of: key)) }
            return nil
        }
        known.withLock { $0.add(holder) }
        entries.withLock { entries in
            if entries.count >= Self.keysMax { entries.removeAll() }
            entries[key] = Entry(holder: holder, until: now + .seconds(Self.lifeSeconds))
        }
        if let use = engine.keys.use(of: holder) { add(use) }
        return holder
    }

    /// Loads the kinds of all keys in the database, so that the kind of each key is known before
    /// its first request.
    func learn(from engine: Engine) async throws(EngineFailure) {
        let keys = try await engine.keys.all()
        known.withLock { $0.replace(by: keys) }
    }

    /// The kind of a key, without a query of the database. Nil if the key is refused, or if the
    /// cache does not contain its kind. The key may have been revoked after its kind was cached.
    func knownKind(of key: String) -> KeyKind? {
        guard key.utf8.count <= Self.keyBytesMax, !refused.withLock({ $0.contains(key) }) else {
            return nil
        }
        // A cached holder contains the hash, which then need not be computed.
        let hash = entries.withLock { $0[key]?.holder.hash } ?? KeyService.hash(of: key)
        return known.withLock { $0.kind(of: hash) }
    }

    /// Stores a use until ``drainUses()``. The stored use may be lost before it is written. This
    /// does no harm, because a key in use is looked up again every ``lifeSeconds``, and its use is
    /// then stored again.
    private func add(_ use: KeyUse) {
        uses.withLock { uses in
            guard uses.count < Self.keysMax else { return }
            uses[use.hash] = use
        }
    }

    /// Removes and returns the stored uses of keys, which the caller writes to the database.
    func drainUses() -> [KeyUse] {
        uses.withLock { uses in
            defer { uses.removeAll() }
            return Array(uses.values)
        }
    }

    /// The cached holder of a key. Returns nil if the cache has no current entry for the key. The
    /// key may be valid nevertheless.
    private func cachedHolder(_ key: String) -> StoredKey? {
        guard let entry = entries.withLock({ $0[key] }), ContinuousClock.now < entry.until else {
            return nil
        }
        return entry.holder
    }
}
