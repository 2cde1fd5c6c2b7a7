internal import PerennialContract

/// The keys that this device trusts: those that the app was built with, or those that it saw first
/// over TLS, and those that these have introduced.
///
/// After that nothing adds a key but an introduction by a key of the ring. So whoever can answer in
/// the server's place cannot make the device trust a key of theirs.
struct KeyRing: Hashable, Sendable {
    /// The keys in a ring.
    static let keysMax = 100
    /// The entries of a chain that are looked at. One server publishes the chains of all its apps.
    static let chainEntriesMax = 10_000
    /// The entries of a chain whose signatures are verified.
    static let introductionsMax = 100
    /// The `typ` of an introduction.
    static let introductionType = "key-introduction+jwt"
    /// Follows the app's name in the `aud` of an introduction.
    static let introductionSuffix = "/keys"

    /// Whether the app was built with the first keys.
    let isPinned: Bool
    /// The oldest first.
    private(set) var keys: [SigningKey]
    /// The introductions by which the other keys came in, in order.
    private(set) var introductions: [String] = []

    /// A ring that trusts what the app was built with. Without such keys it trusts the first key
    /// set that it is shown.
    init(pinned: [SigningKey] = []) {
        isPinned = !pinned.isEmpty
        keys = Array(pinned.prefix(Self.keysMax))
    }

    /// A ring that was kept.
    init(firstSeen keys: [SigningKey]) {
        isPinned = false
        self.keys = Array(keys.suffix(Self.keysMax))
    }

    subscript(_ id: String) -> SigningKey? { keys.last { $0.id == id } }

    /// Learns from a key set that came over TLS: all its keys if the ring is empty, and otherwise
    /// what its chain introduces.
    ///
    /// - Parameter app: the app's name in the server's configuration. Nil if it is not known yet:
    ///   then an introduction for any app is accepted, if a key of the ring has signed it.
    /// - Returns: whether there is a new key.
    mutating func learn(from set: TokenKeySet, app: String?) -> Bool {
        let before = keys.count
        if keys.isEmpty, !isPinned {
            keys = set.keys.prefix(Self.keysMax).compactMap { SigningKey($0) }
        }
        follow(set.chain ?? [], app: app)
        return keys.count > before
    }

    /// Goes through a chain once, oldest entry first, and skips what does not lead on.
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

    /// The payload of a text that a key of the ring has signed, or nil.
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
