import AppStoreFormats
import Crypto
import Synchronization

/// Remembers the digests of header segments. Apple signs for months with one chain, so nearly every
/// document brings a header that was digested before.
///
/// The row itself is looked for with every document all the same, and written where it is absent:
/// after a failover to a server that lacks the last commits, a document must never stand there
/// without its header.
final class HeaderDigests: Sendable {
    /// The oldest goes first.
    static let headersMax = 64

    // A list, not a dictionary: to hash a header costs more than to compare it with the few there
    // are, which differ early.
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
