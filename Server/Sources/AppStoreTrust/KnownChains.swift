import AppStoreFormats

/// Chains that have signed something, by the header they came in.
///
/// Apple signs for months with one chain, so nearly every document brings a header that is known,
/// byte for byte. Building a chain costs two P-384 verifications, about fifteen times the check of
/// the document itself.
///
/// No expiry: we ask no server about revocation, so nothing about a chain can cease to be true but
/// its time, and that is compared with the time of signing at every use. A chain enters only after
/// its leaf's key has verified a document, so a stranger, who can copy Apple's certificates but not
/// sign, cannot push others out.
struct KnownChains: Sendable {
    static let chainsMax = 64

    // Oldest first. A list, not a dictionary: to hash a header costs more than to compare it with
    // the few there are, which differ early.
    private var chains: [(header: ArraySlice<UInt8>, chain: TrustedChain)] = []

    var count: Int { chains.count }

    subscript(header: ArraySlice<UInt8>) -> TrustedChain? {
        chains.first { $0.header.isSame(as: header) }?.chain
    }

    /// Forgets the oldest where there is no room.
    mutating func insert(_ chain: TrustedChain, for header: ArraySlice<UInt8>) {
        guard self[header] == nil else { return }
        if chains.count == Self.chainsMax { chains.removeFirst() }
        // Copied, because a slice would keep the whole document alive.
        chains.append((Array(header)[...], chain))
    }
}
