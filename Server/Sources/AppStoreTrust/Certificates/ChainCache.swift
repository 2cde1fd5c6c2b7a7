import AppStoreFormats
import Synchronization

/// Caches certificate chains that have signed a document. A chain is found by the bytes in which it
/// was received: a JWS's header, or a receipt's certificates.
///
/// Apple signs with one chain for months, so nearly every document contains bytes that are in the
/// cache. Building the chain of a JWS costs two P-384 verifications, about fifteen times the
/// verification of the document itself; building the chain of a receipt costs two RSA
/// verifications, and the parsing of three certificates. Entries do not expire. We ask no server
/// about revocation, so only a chain's validity in time can change. It is compared with the signing
/// time at every use. A chain is added only after its leaf's key has verified a document. An
/// attacker can copy Apple's certificates but cannot sign, and so cannot displace other chains. A
/// receipt's chain is added only if the receipt contained no other certificates, because no
/// signature covers the certificates.
final class ChainCache<Chain: Sendable>: Sendable {
    // Oldest first. This is an array, because hashing the bytes for a dictionary costs more than
    // comparing them with the few entries, which differ early.
    private typealias Entries = [(bytes: ArraySlice<UInt8>, chain: Chain)]

    private let entries = Mutex<Entries>([])

    var count: Int { entries.withLock { $0.count } }

    subscript(bytes: ArraySlice<UInt8>) -> Chain? {
        entries.withLock { Self.chain(of: bytes, in: $0) }
    }

    /// Removes the oldest chain if the cache is full.
    func insert(_ chain: Chain, for bytes: ArraySlice<UInt8>) {
        entries.withLock { entries in
            guard Self.chain(of: bytes, in: entries) == nil else { return }
            if entries.count == cachedChainsMax { entries.removeFirst() }
            // Copied, because a slice would keep the whole document alive.
            entries.append((Array(bytes)[...], chain))
        }
    }

    private static func chain(of bytes: ArraySlice<UInt8>, in entries: Entries) -> Chain? {
        entries.first { $0.bytes.isSame(as: bytes) }?.chain
    }
}

/// The maximum number of cached chains of each kind.
let cachedChainsMax = 64
