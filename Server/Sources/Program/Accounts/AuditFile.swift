import AppStoreFormats
import Crypto
import Engine
import Foundation
import HTTPServer
import Ledger
import PerennialContract
import Storage

/// The audit as a file of JSON lines. Each line has the SHA-256 of the line before it, and the last
/// line is signed with the app's key for tokens. The hashes show a mistake, such as a file that was
/// cut. Somebody who changes a line can compute the hashes again; only the signature reveals such a
/// change.
///
///     {"entry":{"act":"customers.grants",…},"number":1,"previous":"0000…"}
///     {"number":2,"previous":"5f2a…","signature":"eyJ…"}
///
/// The signature is a compact JWS. Its claims are the app, the time, the number of entries, and the
/// SHA-256 of the last entry's line.
struct AuditFile {
    static let type = "audit+jwt"
    /// The subject of a file about accounts. No app has such an id.
    static let accounts = "*"
    /// The `previous` of the first line.
    static let start = String(repeating: "0", count: 64)
    /// The maximum size of a file that is read, in bytes: about a million entries.
    static let bytesMax = 536_870_912

    private struct Line: Codable {
        var number: Int
        var previous: String
        var entry: AuditEntry?
        /// Only in the last line. Empty if the app has no key for tokens.
        var signature: String?
    }

    // MARK: - Writing

    /// Makes the lines, one after the other.
    struct Writer {
        private(set) var count = 0
        private(set) var previous = AuditFile.start
        private let encoder: JSONEncoder = {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
            return encoder
        }()

        /// - Returns: the line with its line feed.
        mutating func line(of act: RecordedAct) throws -> String {
            count += 1
            let line = Line(number: count, previous: previous, entry: AuditEntry(act))
            let text = try text(of: line)
            previous = AuditFile.digest(of: text)
            return text + "\n"
        }

        func lastLine(signature: String?) throws -> String {
            let line = Line(number: count + 1, previous: previous, signature: signature ?? "")
            return try text(of: line) + "\n"
        }

        private func text(of line: Line) throws -> String {
            String(decoding: try encoder.encode(line), as: UTF8.self)
        }

        /// The claims that the last line signs.
        ///
        /// - Parameter subject: the app, or ``AuditFile/accounts``.
        func claims(about subject: String, at now: Timestamp) -> JSON {
            [
                "aud": .string("\(subject)/audit"), "iat": .integer(now.milliseconds / 1000),
                "entries": .integer(Int64(count)), "sha256": .string(previous),
            ]
        }
    }

    private static func digest(of line: some StringProtocol) -> String {
        Hexadecimal.text(Array(SHA256.hash(data: Data(line.utf8))))
    }

    // MARK: - Reading

    /// The entries, in the order of the file.
    var entries: [AuditEntry] = []
    /// The SHA-256 of the last entry's line.
    var digest = start
    /// The signature of the last line. Nil if the app had no key for tokens.
    var signature: String?

    /// Reads a file, and checks that each line contains the SHA-256 of the line before it.
    ///
    /// - Throws: ``StartFailure`` that names the first line that is wrong.
    init(at path: String) throws(StartFailure) {
        guard let text = Disk.text(of: path, bytesMax: Self.bytesMax) else {
            throw StartFailure(
                "\(path) cannot be read.",
                remedy: "Name a file of at most \(Self.bytesMax >> 20) MiB that `perennial export "
                    + "audit` has written.")
        }
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        // The file ends with a line feed.
        guard lines.last == "" else { throw Self.wrong(lines.count, in: path) }
        for (index, line) in lines.dropLast().enumerated() {
            let isLast = index == lines.count - 2
            guard let found = try? JSONDecoder().decode(Line.self, from: Data(line.utf8)),
                found.number == index + 1, found.previous == digest,
                isLast == (found.signature != nil), isLast == (found.entry == nil)
            else { throw Self.wrong(index + 1, in: path) }
            guard let entry = found.entry else {
                signature = found.signature.flatMap { $0.isEmpty ? nil : $0 }
                return
            }
            entries.append(entry)
            digest = Self.digest(of: line)
        }
        throw Self.wrong(1, in: path)
    }

    private static func wrong(_ number: Int, in path: String) -> StartFailure {
        StartFailure(
            "\(path):\(number): this line does not follow from the line before it, or the last "
                + "line is missing.",
            remedy: "A line was changed, removed or added, or the file was cut. Use another copy, "
                + "or export again.")
    }

    /// Whether claims are those of this file.
    func agrees(with claims: JSON, about subject: String) -> Bool {
        claims["aud"]?.string == "\(subject)/audit" && claims["sha256"]?.string == digest
            && claims["entries"]?.integer == Int64(entries.count)
    }

    /// The last deletion of old entries by `retention` that the file reports. Nil if it reports
    /// none.
    var deletion: AuditDeletion? { entries.lazy.compactMap(AuditDeletion.init).first }

    /// The first entry of an earlier file that is missing in this file or has other values here.
    ///
    /// Entries may be missing that `retention` has deleted. Somebody with access to the database
    /// can add a false report of a deletion. So a report accounts only for as many entries as it
    /// counts, and never for an entry that was younger than the minimum when the file was signed.
    ///
    /// - Parameter signedAt: when this file was signed.
    func difference(from earlier: AuditFile, signedAt: Instant) -> AuditEntry? {
        let known = Dictionary(
            entries.map { ($0.auditID, $0) }, uniquingKeysWith: { first, _ in first })
        let before = min(
            deletion?.before ?? Instant(milliseconds: .min),
            signedAt - RetentionSettings.auditMin)
        var deletable = (deletion?.removed ?? 0) - (earlier.deletion?.removed ?? 0)
        return earlier.entries.first { entry in
            if let present = known[entry.auditID] { return !present.mayFollow(entry) }
            deletable -= 1
            return deletable < 0 || entry.at.milliseconds >= before.milliseconds
        }
    }
}

/// What an entry says about a deletion by `retention`.
struct AuditDeletion: Hashable {
    var at: Instant
    /// All deleted entries are from before this moment.
    var before: Instant
    /// The number of entries that were deleted since the beginning.
    var removed: Int

    init?(_ entry: AuditEntry) {
        guard entry.act == RetentionService.auditAct,
            let before = entry.after?[RetentionService.beforeMember].flatMap({ Instant($0) }),
            let removed = entry.after?[RetentionService.removedMember].flatMap({ Int($0) })
        else { return nil }
        at = Instant(milliseconds: entry.at.milliseconds)
        (self.before, self.removed) = (before, removed)
    }

    var sentence: String {
        "\(removed.counted("older entry", "older entries")) from before \(before.minute) were "
            + "deleted as configured, the last \(at.minute)."
    }
}

extension AuditEntry {
    /// Whether this entry may be a later form of an earlier one. An entry changes in two cases:
    /// when the action ends, its result is added; and an erasure replaces ids of customers.
    fileprivate func mayFollow(_ earlier: AuditEntry) -> Bool {
        func keeps(_ former: [String: String]?, _ present: [String: String]?) -> Bool {
            guard let former else { return true }
            return Set(former.keys) == present.map { Set($0.keys) }
                && former.allSatisfy { name, value in
                    RecordedAct.customerMembers.contains(name) || present?[name] == value
                }
        }
        return at == earlier.at && author == earlier.author && act == earlier.act
            && environment == earlier.environment
            && (customerID == nil) == (earlier.customerID == nil)
            && (earlier.subject == nil || subject == earlier.subject)
            && keeps(earlier.before, before) && keeps(earlier.after, after)
    }
}
