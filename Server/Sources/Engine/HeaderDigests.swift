import AppStoreFormats
import Crypto
import Synchronization

/// Caches the digests of header segments. Apple uses one certificate chain for months, so nearly
/// every document has a header that was digested before.
///
/// Nevertheless, the header's row is looked up with every document, and written if it is absent.
/// The reason is that the database may have failed over to a server that lacks the last commits,
/// and no document may be stored without its header.
final class HeaderDigests: Sendable {
    /// The maximum number of cached headers. A full cache removes its oldest entry.
    static let headersMax = 64

    // The cached headers. This is a list, not a dictionary: hashing a header costs more than
    // comparing it with the few entries, which differ in their first bytes.
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
