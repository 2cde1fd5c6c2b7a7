internal import PerennialContract

/// The keys that this device trusts: the first keys, and the keys that trusted keys have
/// introduced. The first keys are those that the app was built with or, without such keys, the
/// first keys that the device received over TLS.
///
/// Once the ring has keys, a key is added only if a key of the ring introduces it. So an attacker
/// who answers instead of the server cannot make the device trust another key.
struct KeyRing: Hashable, Sendable {
    /// The maximum number of keys in a ring.
    static let keysMax = 100
    /// The maximum number of entries of a chain that are read. The chain of one server contains the
    /// introductions of all its apps.
    static let chainEntriesMax = 10_000
    /// The maximum number of entries of a chain whose signatures are verified.
    static let introductionsMax = 100
    /// The `typ` of an introduction.
    static let introductionType = "key-introduction+jwt"
    /// The suffix after the app's name in the `aud` of an introduction.
    static let introductionSuffix = "/keys"

    /// Whether the app was built with the first keys.
    let isPinned: Bool
    /// The trusted keys, oldest first.
    private(set) var keys: [SigningKey]
    /// The introductions that added further keys, in the order of their use.
    private(set) var introductions: [String] = []

    /// Creates a ring that trusts the keys that the app was built with. Without such keys, the ring
    /// trusts the first key set that it receives.
    init(pinned: [SigningKey] = []) {
        isPinned = !pinned.isEmpty
        keys = Array(pinned.prefix(Self.keysMax))
    }

    /// Creates a ring from stored keys.
    init(firstSeen keys: [SigningKey]) {
        isPinned = false
        self.keys = Array(keys.suffix(Self.keysMax))
    }

    subscript(_ id: String) -> SigningKey? { keys.last { $0.id == id } }

    /// Adds keys from a key set that was received over TLS. If the ring is empty, adds all keys of
    /// the set; otherwise the keys that the chain of the set introduces.
    ///
    /// - Parameter app: the app's name in the server's configuration. Nil if the name is not known
    ///   yet. Then an introduction for any app is accepted, if a key of the ring has signed it.
    /// - Returns: whether the ring has a new key.
    mutating func learn(from set: TokenKeySet, app: String?) -> Bool {
        let before = keys.count
        if keys.isEmpty, !isPinned {
            keys = set.keys.prefix(Self.keysMax).compactMap { SigningKey($0) }
        }
        follow(set.chain ?? [], app: app)
        return keys.count > before
    }

    /// Adds the keys that a chain introduces. Reads the chain once, oldest entry first, and skips
    /// entries that introduce no key.
    mutating func follow(_ chain: [String], app: String?) {
        var verified = 0
        for entry in chain.suffix(Self.chainEntriesMax) where verified < Self.introductionsMax {
            guard keys.count < Self.keysMax, let jws = CompactJWS(entry),
                jws.type == Self.introductionType, let claims = SignedJSON(jws.payload),
                Self.isAudience(claims["aud"]?.string, of: app),
                let next = claims["key"].flatMap(SigningKey.init(introduced:)),
                self[next.id] == nil, let introducer = self[jws.keyID]
            else { continue }
            verified += 1
            guard introducer.isSignature(of: jws) else { continue }
            keys.append(next)
            introductions.append(entry)
        }
    }

    /// The payload of a text that a key of the ring has signed. Nil if no key of the ring has
    /// signed it.
    func verify(_ text: String, type: String, bytesMax: Int = CompactJWS.bytesMax) -> [UInt8]? {
        CompactJWS(text, bytesMax: bytesMax).flatMap { verify($0, type: type) }
    }

    func verify(_ jws: CompactJWS, type: String) -> [UInt8]? {
        guard jws.type == type, let key = self[jws.keyID], key.isSignature(of: jws) else {
            return nil
        }
        return jws.payload
    }

    private static func isAudience(_ audience: String?, of app: String?) -> Bool {
        guard let audience, audience.hasSuffix(introductionSuffix),
            audience.utf8.count > introductionSuffix.utf8.count
        else { return false }
        return app.map { audience == $0 + introductionSuffix } ?? true
    }
}
