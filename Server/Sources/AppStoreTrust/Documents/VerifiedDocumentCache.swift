/// Caches the digests of documents whose signature was verified.
///
/// The App Store and apps send the same bytes again and again: notifications are repeated, and at
/// each start an app posts all documents that it has. Hashing a document costs a tenth of verifying
/// its signature, and is necessary in any case.
///
/// The digest covers the whole document, including the chain and the signature. Nothing else about
/// a document is cached: the validity of its chain and the app it is for are checked at every use.
/// A document is added only after it was verified, so an attacker cannot displace others.
struct VerifiedDocumentCache: Sendable {
    static let countDefault = 2048

    /// The minimum number of recent documents that are cached; the maximum is twice this.
    private let countMax: Int
    private var recent: Set<[UInt8]> = []
    private var older: Set<[UInt8]> = []

    init(atLeast countMax: Int) { self.countMax = countMax }

    var count: Int { recent.count + older.count }

    func contains(_ digest: [UInt8]) -> Bool { recent.contains(digest) || older.contains(digest) }

    /// Removes the older half if the cache is full.
    mutating func insert(_ digest: [UInt8]) {
        guard countMax > 0 else { return }
        if recent.count == countMax { (older, recent) = (recent, []) }
        recent.insert(digest)
    }
}
