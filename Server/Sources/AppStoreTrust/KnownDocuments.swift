/// Documents whose signature was found good, by their digest.
///
/// The store and apps say the same bytes again and again: notifications are repeated, and an app
/// posts what it holds at each start. To hash a document costs a tenth of checking its signature,
/// and has to be done anyhow.
///
/// The digest is of the whole document, so that the chain and the signature are part of it. Nothing
/// else about a document is remembered: its chain's time and whom it is for are compared at every
/// use. A document enters only when it was verified, so a stranger cannot push others out.
struct KnownDocuments: Sendable {
    static let countDefault = 2048

    /// How many are remembered at least, once so many have come; at most twice as many are.
    private let countMax: Int
    private var young: Set<[UInt8]> = []
    private var old: Set<[UInt8]> = []

    init(atLeast countMax: Int) { self.countMax = countMax }

    var count: Int { young.count + old.count }

    func contains(_ digest: [UInt8]) -> Bool { young.contains(digest) || old.contains(digest) }

    /// Forgets the older half where there is no room.
    mutating func insert(_ digest: [UInt8]) {
        guard countMax > 0 else { return }
        if young.count == countMax { (old, young) = (young, []) }
        young.insert(digest)
    }
}
