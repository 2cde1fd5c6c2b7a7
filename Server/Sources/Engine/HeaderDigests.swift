import AppStoreFormats
import Crypto
import Synchronization

/// Caches the digests of header segments. Apple signs for months with one chain, so nearly every
/// document has a header that was digested before.
///
/// The header's row is still looked up with every document, and written if it is absent: after a
/// failover to a server that lacks the last commits, no document must be stored without its header.
final class HeaderDigests: Sendable {
    /// When full, the oldest entry is removed.
    static let headersMax = 64

    // A list, not a dictionary: hashing a header costs more than comparing it with the few entries,
    // which differ early.
    private let known = Mutex<[(segment: [UInt8], digest: [UInt8])]>([])

    func digest(of segment: [UInt8]) -> [UInt8] {
        known.withLock { known in
            let entry = known.first { $0.segment.isSame(as: segment) }
            if let entry { return entry.digest }
            let digest = Array(SHA256.hash(data: segment))
            if known.count == Self.headersMax { known.removeFirst() }
            known.append((segment, digest))
            return digest
        }
    }
}
