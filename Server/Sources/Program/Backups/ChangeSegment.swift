import Crypto
import Foundation
import Ledger
import StorageSQLite

/// The changes of a database between two moments, as a file has them: the last version of each
/// changed page. Such files, in their order, lead from a backup to every later moment.
///
/// The file has a head of lines of text, an empty line, the pages, and the SHA-256 of all of this.
/// Each page follows its number in four bytes, the most significant one first.
struct ChangeSegment: Hashable, Sendable {
    /// When the changes were read. They were committed before.
    var moment: Instant
    /// The place in the write-ahead log after which they come.
    var from: WriteAheadLog.Place
    var changes: WriteAheadLog.Changes

    private static let title = "perennial changes 1"
    /// The maximum length of the head, in bytes.
    private static let headBytesMax = 1_000
    /// The maximum size of a file, in bytes. One transaction may be larger than the limit of what
    /// is read at once.
    static let bytesMax = 4_294_967_296
    private static let digestBytes = 32

    /// The contents of the file.
    var data: Data {
        let lines = [
            Self.title, "moment \(moment.milliseconds)", "from \(Self.text(of: from))",
            "to \(Self.text(of: changes.end))", "page_bytes \(changes.pageBytes)",
            "pages \(changes.pages.count)", "size \(changes.pageCount)", "", "",
        ]
        var data = Data(lines.joined(separator: "\n").utf8)
        data.reserveCapacity(data.count + changes.pages.count * (changes.pageBytes + 4) + 32)
        for (number, page) in changes.pages.sorted(by: { $0.key < $1.key }) {
            withUnsafeBytes(of: number.bigEndian) { data.append(contentsOf: $0) }
            data.append(contentsOf: page)
        }
        data.append(contentsOf: SHA256.hash(data: data))
        return data
    }

    private static func text(of place: WriteAheadLog.Place) -> String {
        "\(place.salts) \(place.frames) \(place.checksum)"
    }

    init(
        moment: Instant, from: WriteAheadLog.Place, changes: WriteAheadLog.Changes
    ) {
        (self.moment, self.from, self.changes) = (moment, from, changes)
    }

    /// Reads the contents of a file. Returns nil if they are damaged.
    init?(_ data: Data) {
        guard data.count > Self.digestBytes else { return nil }
        let content = data.dropLast(Self.digestBytes)
        guard Data(SHA256.hash(data: content)) == data.suffix(Self.digestBytes),
            let end = content.prefix(Self.headBytesMax).range(of: Data("\n\n".utf8))
        else { return nil }
        let head = String(decoding: content[..<end.lowerBound], as: UTF8.self)
        let lines = head.split(separator: "\n").map { $0.split(separator: " ").map(String.init) }
        guard lines.count == 7, lines[0].joined(separator: " ") == Self.title,
            let moment = Self.numbers(lines[1], "moment", 1),
            let from = Self.place(lines[2], "from"), let to = Self.place(lines[3], "to"),
            let pageBytes = Self.numbers(lines[4], "page_bytes", 1)?[0],
            let count = Self.numbers(lines[5], "pages", 1)?[0],
            let size = Self.numbers(lines[6], "size", 1)?[0],
            pageBytes > 0, count >= 0, size <= UInt32.max
        else { return nil }
        let body = content[end.upperBound...]
        let stride = Int(pageBytes) + 4
        guard body.count == Int(count) * stride else { return nil }
        var changes = WriteAheadLog.Changes(pageBytes: Int(pageBytes), end: to)
        changes.pageCount = UInt32(size)
        for index in 0..<Int(count) {
            let start = body.startIndex + index * stride
            let number = body[start..<start + 4].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
            changes.pages[number] = Array(body[start + 4..<start + stride])
        }
        self.init(
            moment: Instant(milliseconds: Int64(moment[0])), from: from, changes: changes)
    }

    private static func numbers(_ words: [String], _ name: String, _ count: Int) -> [UInt64]? {
        guard words.count == count + 1, words[0] == name else { return nil }
        let numbers = words.dropFirst().compactMap { UInt64($0) }
        return numbers.count == count ? numbers : nil
    }

    private static func place(_ words: [String], _ name: String) -> WriteAheadLog.Place? {
        guard let numbers = numbers(words, name, 3), numbers[1] <= UInt32.max else { return nil }
        return WriteAheadLog.Place(
            salts: numbers[0], frames: UInt32(numbers[1]), checksum: numbers[2])
    }
}

/// The changes since a backup, in files beside it: the folder `….changes` with a file for each
/// second in which something changed, named `NUMBER-MOMENT.pages`, or `….pages.age` if encrypted.
struct ChangeFolder: Hashable, Sendable {
    struct File: Hashable, Sendable {
        var number: Int
        var moment: Instant
        var path: String
        var bytes: Int64
    }

    let path: String

    static let suffix = ".changes"
    private static let fileSuffix = ".pages"
    /// The maximum number of files since one backup. Then another backup is due.
    static let filesMax = 200_000

    /// The folder of a backup.
    ///
    /// - Parameter backup: the path of the backup, whether encrypted or not.
    init(of backup: String) {
        let plain =
            backup.hasSuffix(EncryptedBackup.suffix)
            ? String(backup.dropLast(EncryptedBackup.suffix.count)) : backup
        path = plain + Self.suffix
    }

    func file(_ number: Int, at moment: Instant) -> String {
        let digits = String(number)
        let padded = String(repeating: "0", count: max(0, 8 - digits.count)) + digits
        return "\(path)/\(padded)-\(moment.milliseconds)\(Self.fileSuffix)"
    }

    /// All files, in their order. Empty if there is no such folder.
    func files() throws(StartFailure) -> [File] {
        guard Disk.exists(path) else { return [] }
        let names: [String]
        do { names = try FileManager.default.contentsOfDirectory(atPath: path) } catch {
            throw StartFailure(
                "The folder \(path) cannot be read.", remedy: "Let this user read it.")
        }
        return names.compactMap { name in
            var stem = name[...]
            if stem.hasSuffix(EncryptedBackup.suffix) {
                stem = stem.dropLast(EncryptedBackup.suffix.count)
            }
            guard stem.hasSuffix(Self.fileSuffix) else { return nil }
            let parts = stem.dropLast(Self.fileSuffix.count).split(separator: "-")
            guard parts.count == 2, let number = Int(parts[0]), let moment = Int64(parts[1])
            else { return nil }
            let file = "\(path)/\(name)"
            return File(
                number: number, moment: Instant(milliseconds: moment), path: file,
                bytes: BackupCopy.size(file))
        }.sorted { $0.number < $1.number }
    }

    /// Deletes the folder with its files. Idempotent.
    func remove() { try? FileManager.default.removeItem(atPath: path) }
}
