import Storage

/// The kinds of the API keys that a server knows, indexed by the SHA-256 of each key.
///
/// At most `max` keys are stored. If there are more, the least recently used keys are removed.
struct KnownKeys: Sendable {
    private struct Entry {
        var kind: KeyKind
        /// The number of the last use. A later use has a higher number.
        var use: UInt64
    }

    private let max: Int
    private var entries: [[UInt8]: Entry] = [:]
    private var useCount: UInt64 = 0

    /// - Parameter max: how many keys are known at one time; at least 4.
    init(max: Int) { self.max = max }

    var count: Int { entries.count }

    /// Returns the kind of a key, and records that the key was used. Nil if the key is not known.
    mutating func kind(of hash: [UInt8]) -> KeyKind? {
        guard let kind = entries[hash]?.kind else { return nil }
        useCount += 1
        entries[hash]?.use = useCount
        return kind
    }

    /// Adds a key that was used now.
    mutating func add(_ key: StoredKey) {
        useCount += 1
        entries[key.hash] = Entry(kind: key.kind, use: useCount)
        if entries.count > max { forgetLeastUsed() }
    }

    mutating func remove(_ hash: [UInt8]) { entries[hash] = nil }

    /// Replaces all keys by the keys in the database. A key that was already known keeps the number
    /// of its last use.
    mutating func replace(by keys: [StoredKey]) {
        let former = entries
        let sorted = keys.sorted { Self.isUsed($0, before: $1, former) }.suffix(max)
        entries = [:]
        for key in sorted {
            entries[key.hash] = Entry(kind: key.kind, use: former[key.hash]?.use ?? 0)
        }
    }

    /// Whether a key was used before another one. The uses that this server has counted take
    /// precedence over the times in the database, which may be an hour old.
    private static func isUsed(
        _ key: StoredKey, before other: StoredKey, _ former: [[UInt8]: Entry]
    ) -> Bool {
        let uses = (former[key.hash]?.use ?? 0, former[other.hash]?.use ?? 0)
        guard uses.0 == uses.1 else { return uses.0 < uses.1 }
        return (key.lastUsedAt ?? key.createdAt) < (other.lastUsedAt ?? other.createdAt)
    }

    /// Removes the least recently used keys until a quarter of the places is free. So one removal
    /// makes room for many new keys.
    private mutating func forgetLeastUsed() {
        let kept = entries.sorted { $0.value.use < $1.value.use }.suffix(max - max / 4)
        entries = Dictionary(uniqueKeysWithValues: kept.map { ($0.key, $0.value) })
    }
}
