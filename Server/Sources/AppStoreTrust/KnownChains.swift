import AppStoreFormats
import Synchronization

/// Chains that have signed something, by the bytes they came in: a JWS's header, a receipt's
/// certificates.
///
/// Apple signs for months with one chain, so nearly every document brings bytes that are known.
/// Building a chain of a JWS costs two P-384 verifications, about fifteen times the check of the
/// document itself; a receipt's, three certificates read and two verifications of RSA.
///
/// No expiry: we ask no server about revocation, so nothing about a chain can cease to be true but
/// its time, and that is compared with the time of signing at every use. A chain enters only after
/// its leaf's key has verified a document, so a stranger, who can copy Apple's certificates but not
/// sign, cannot push others out; and a receipt's only where it came with nothing else, since no
/// signature is over its certificates.
final class KnownChains<Chain: Sendable>: Sendable {
    // Oldest first. A list, not a dictionary: to hash the bytes costs more than to compare them
    // with the few there are, which differ early.
    private typealias Entries = [(bytes: ArraySlice<UInt8>, chain: Chain)]

    private let entries = Mutex<Entries>([])

    var count: Int { entries.withLock { $0.count } }

    subscript(bytes: ArraySlice<UInt8>) -> Chain? {
        entries.withLock { Self.chain(of: bytes, in: $0) }
    }

    /// Forgets the oldest where there is no room.
    func insert(_ chain: Chain, for bytes: ArraySlice<UInt8>) {
        entries.withLock { entries in
            guard Self.chain(of: bytes, in: entries) == nil else { return }
            if entries.count == knownChainsMax { entries.removeFirst() }
            // Copied, because a slice would keep the whole document alive.
            entries.append((Array(bytes)[...], chain))
        }
    }

    private static func chain(of bytes: ArraySlice<UInt8>, in entries: Entries) -> Chain? {
        entries.first { $0.bytes.isSame(as: bytes) }?.chain
    }
}

/// Of each kind.
let knownChainsMax = 64
