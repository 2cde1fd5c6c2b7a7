import Synchronization

/// The receipt keys of an authority: existing keys, or those of a seed, which are made when the
/// first receipt is requested. Most runs need no receipt keys.
enum ReceiptSource: Sendable {
    case made(ReceiptAuthority)
    case seeded(SeededReceiptAuthority)

    var authority: ReceiptAuthority {
        get throws(SigningFailure) {
            switch self {
            case .made(let authority): authority
            case .seeded(let receipts): try receipts.authority
            }
        }
    }
}

/// The receipt authority of a seed, made once.
final class SeededReceiptAuthority: Sendable {
    private let seed: UInt64
    private let made = Mutex<ReceiptAuthority?>(nil)

    init(seed: UInt64) { self.seed = seed }

    var authority: ReceiptAuthority {
        get throws(SigningFailure) {
            try made.withLock { made throws(SigningFailure) in
                if let made { return made }
                let authority = try ReceiptAuthority(seed: seed)
                made = authority
                return authority
            }
        }
    }
}
