import Crypto
import Ledger
import Storage

/// The list of erasures outside of the database. A restored backup contains people who were erased
/// after the backup was made. With the list, the server erases these people again.
///
/// An intent is appended to the list before the transaction of an erasure begins. An end is
/// appended after the transaction was committed. The list contains no ids, only their HMACs under a
/// key that is in the database.
package struct ErasureList: Sendable {
    /// Appends lines. When the function returns, the lines are on the disk.
    let append: @Sendable ([ErasureLine]) async throws -> Void

    package init(append: @escaping @Sendable ([ErasureLine]) async throws -> Void) {
        self.append = append
    }
}

/// One line of the list of erasures.
package enum ErasureLine: Hashable, Sendable {
    /// An erasure that is about to begin.
    case intent(ErasureIntent)
    /// The erasure with this name has ended. If an event log of the app has an event at this
    /// position, the database of that log contains the erasure.
    case end(name: String, app: AppID, position: LogPosition)
    /// The erasure with this name has failed: nothing was erased.
    case abandoned(name: String, app: AppID)
}

/// The person whom an erasure is about to erase.
package struct ErasureIntent: Hashable, Sendable {
    /// The form in which the list contains an id.
    package struct Code: Hashable, Sendable {
        /// The HMAC of the id.
        package var exact: [UInt8]
        /// The HMAC of the hash of the id in lower case. The table of erased ids contains the same
        /// value.
        package var tombstone: [UInt8]

        package init(exact: [UInt8], tombstone: [UInt8]) {
            self.exact = exact
            self.tombstone = tombstone
        }
    }

    /// A random name of ``nameDigits`` hexadecimal digits.
    package var name: String
    package var app: AppID
    package var at: Instant
    /// Identifies the key of the HMACs by the beginning of its hash.
    package var key: String
    /// The ids of the person.
    package var codes: [Code]

    package static let nameDigits = 16
    package static let keyDigits = 8

    package init(name: String, app: AppID, at: Instant, key: String, codes: [Code]) {
        (self.name, self.app, self.at) = (name, app, at)
        (self.key, self.codes) = (key, codes)
    }
}

/// An erasure that was not abandoned, and the positions at which it ended.
package struct ListedErasure: Hashable, Sendable {
    package var intent: ErasureIntent
    /// An end for each time that the person was erased: the first time, and again after restores.
    package var ends: Set<LogPosition> = []

    /// The erasures of a list, in the order of their intents. An end whose intent is missing is
    /// ignored.
    package static func all(in lines: some Sequence<ErasureLine>) -> [ListedErasure] {
        var names: [String] = []
        var found: [String: ListedErasure] = [:]
        var ends: [String: Set<LogPosition>] = [:]
        var abandoned: Set<String> = []
        for line in lines {
            switch line {
            case .intent(let intent):
                if found[intent.name] == nil {
                    names.append(intent.name)
                    found[intent.name] = ListedErasure(intent: intent)
                } else {
                    found[intent.name]?.intent.codes += intent.codes
                }
            case .end(let name, _, let position): ends[name, default: []].insert(position)
            case .abandoned(let name, _): abandoned.insert(name)
            }
        }
        return names.compactMap { name in
            guard !abandoned.contains(name), var erasure = found[name] else { return nil }
            erasure.ends = ends[name] ?? []
            return erasure
        }
    }
}

/// The key of an app for the HMACs of ids in the list.
struct ErasureKey: Sendable {
    private let bytes: SymmetricKey
    /// The beginning of the hash of the key.
    let name: String

    /// The prefix that distinguishes the message of an id from the message of a hash.
    private static let label = Array("id ".utf8)

    init(_ bytes: [UInt8]) {
        self.bytes = SymmetricKey(data: bytes)
        let digits = Hexadecimal.text(Array(SHA256.hash(data: bytes)))
        name = String(digits.prefix(ErasureIntent.keyDigits))
    }

    func exact(_ id: CustomerID) -> [UInt8] { code(Self.label + Array(id.rawValue.utf8)) }

    /// - Returns: the value of ``ErasureKeying/hmac`` for the plain hash of the id.
    func tombstone(_ id: CustomerID) -> [UInt8] { code(id.hash) }

    func code(of id: CustomerID) -> ErasureIntent.Code {
        ErasureIntent.Code(exact: exact(id), tombstone: tombstone(id))
    }

    private func code(_ message: [UInt8]) -> [UInt8] {
        Array(HMAC<SHA256>.authenticationCode(for: message, using: bytes))
    }
}
