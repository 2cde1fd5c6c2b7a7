import Foundation
import Ledger

/// A row of `Tables/restore.txt`. The text of that file describes its columns.
struct RestoreRow: Hashable, CustomStringConvertible, Sendable {
    var policy: OwnershipClaim.RestorePolicy
    var path: Path
    var answer: String
    var owner: String
    var users: String
    var toldFormer: String
    var toldBen: String
    var usersAfterUndo: String

    enum Path: String, CaseIterable, Sendable {
        case purchase
        case restore
        case refunded
        case notification
        case alias
        case token
        case tokenUnheard = "token unheard"
        case tokenUpper = "token upper"
        case tokenDiffers = "token differs"
        case tokenLater = "token later"
        case tokenUnknown = "token unknown"
        case tokenUnknownLinked = "token unknown, linked"
        case support
        case blocked
        case usedUp = "used up"
        case usedUpUnknown = "used up, unknown"
        case usedUpUnspent = "used up, unspent"
        case usedUpSpent = "used up, spent"
        case anonymous
        case anonymousBeside = "anonymous beside"
        case anonymousToken = "anonymous token"
        case anonymousTokenBeside = "anonymous token beside"
        case anonymousUsedUp = "anonymous used up"

        /// Whether the buyer is an anonymous customer, from whom a person takes the purchase.
        /// Without an intent the policy decides, as between two people.
        var isTaking: Bool { self == .anonymous || self == .anonymousToken }

        /// The people in the row who have not signed in.
        var anonymous: Set<String> {
            switch self {
            case .anonymous, .anonymousToken, .anonymousUsedUp: ["anna"]
            case .anonymousBeside, .anonymousTokenBeside: ["anna", "ben"]
            default: []
            }
        }
    }

    var description: String { "\(policy.rawValue), \(path.rawValue)" }

    struct Unreadable: Error { var line: String }

    static func rows(of policy: OwnershipClaim.RestorePolicy) throws -> [RestoreRow] {
        let file = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "Tables/restore.txt")
        var rows: [RestoreRow] = []
        var current: OwnershipClaim.RestorePolicy?
        for line in try String(contentsOf: file, encoding: .utf8).split(separator: "\n") {
            if line.hasPrefix("#") { continue }
            if line.hasPrefix("[") {
                current = OwnershipClaim.RestorePolicy(
                    rawValue: String(line.dropFirst().dropLast()))
                continue
            }
            let cells = line.split(separator: "|").map {
                $0.trimmingCharacters(in: .whitespaces)
            }
            guard let current, cells.count == 7, let path = Path(rawValue: cells[0]) else {
                throw Unreadable(line: String(line))
            }
            rows.append(
                RestoreRow(
                    policy: current, path: path, answer: cells[1], owner: cells[2],
                    users: cells[3], toldFormer: cells[4], toldBen: cells[5],
                    usersAfterUndo: cells[6]))
        }
        return rows.filter { $0.policy == policy }
    }

    /// The verdict for each path under a policy, if the app has found the purchase at launch: the
    /// rows of `Tables/restore-sync.txt`.
    static func verdictsOfSync(
        under policy: OwnershipClaim.RestorePolicy
    ) throws -> [Path: String] {
        let file = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "Tables/restore-sync.txt")
        let column = OwnershipClaim.RestorePolicy.allCases.firstIndex(of: policy)! + 1
        var verdicts: [Path: String] = [:]
        for line in try String(contentsOf: file, encoding: .utf8).split(separator: "\n")
        where !line.hasPrefix("#") {
            let cells = line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
            guard cells.count == 5, let path = Path(rawValue: cells[0]) else {
                throw Unreadable(line: String(line))
            }
            verdicts[path] = cells[column]
        }
        return verdicts
    }
}
