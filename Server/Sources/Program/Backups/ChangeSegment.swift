import Crypto
import Foundation
import Ledger
import StorageSQLite

/// The content of a file with the changes of a database between two moments: the last version of
/// each changed page. The files in their order, applied to a backup, give the state of any later
/// moment.
///
/// The file consists of a head of text lines, an empty line, the pages, and the SHA-256 of
/// everything before it. Each page follows its number in four bytes, the most significant one
/// first.
struct ChangeSegment: Hashable, Sendable {
    /// When the changes were read. All of them were committed before this moment.
    var moment: Instant
    /// The place in the write-ahead log after which the changes come.
    var from: WriteAheadLog.Place
    var changes: WriteAheadLog.Changes

    private static let title = "perennial changes 1"
    /// The maximum length of the head, in bytes.
    private static let headBytesMax = 1_000
    /// The maximum size of a file, in bytes. This is more than the maximum that is read from a log
    /// at once.
    static let bytesMax: Int64 = 1_073_741_824
    private static let digestBytes = 32

    /// The contents of the file.
    var data: Data {
        let lines = [
            Self.title, "moment \(moment.milliseconds)", "from \(Self.text(of: from))",
            "to \(Self.text(of: changes.end))", "more \(changes.hasMore ? 1 : 0)",
            "page_bytes \(changes.pageBytes)", "pages \(changes.pages.count)",
            "size \(changes.pageCount)", "", "",
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
            let end = content.prefix(Self.headBytesMax).range(of: Data("\n\n".utf8)),
            let head = Head(String(decoding: content[..<end.lowerBound], as: UTF8.self))
        else { return nil }
        let body = content[end.upperBound...]
        let stride = Int(head.pageBytes) + 4
        guard body.count == Int(head.pages) * stride else { return nil }
        var changes = WriteAheadLog.Changes(pageBytes: Int(head.pageBytes), end: head.to)
        (changes.pageCount, changes.hasMore) = (head.pageCount, head.hasMore)
        for index in 0..<Int(head.pages) {
            let start = body.startIndex + index * stride
            let number = body[start..<start + 4].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
            changes.pages[number] = Array(body[start + 4..<start + stride])
        }
        self.init(moment: head.moment, from: head.from, changes: changes)
    }

    /// The lines before the pages.
    private struct Head {
        var moment: Instant
        var from: WriteAheadLog.Place
        var to: WriteAheadLog.Place
        var hasMore: Bool
        var pageBytes: UInt32
        var pages: UInt32
        var pageCount: UInt32

        init?(_ text: String) {
            let lines = text.split(separator: "\n").map { $0.split(separator: " ") }
            guard lines.count == 8, lines[0].joined(separator: " ") == title,
                let moment = numbers(lines[1], "moment", 1).flatMap({ Int64(exactly: $0[0]) }),
                let from = place(lines[2], "from"), let to = place(lines[3], "to"),
                let more = numbers(lines[4], "more", 1),
                let pageBytes = small(lines[5], "page_bytes"), pageBytes > 0,
                let pages = small(lines[6], "pages"), let pageCount = small(lines[7], "size")
            else { return nil }
            self.moment = Instant(milliseconds: moment)
            (self.from, self.to, hasMore) = (from, to, more[0] == 1)
            (self.pageBytes, self.pages, self.pageCount) = (pageBytes, pages, pageCount)
        }
    }

    private static func numbers(
        _ words: [Substring], _ name: String, _ count: Int
    ) -> [UInt64]? {
        guard words.count == count + 1, words[0] == name else { return nil }
        let numbers = words.dropFirst().compactMap { UInt64($0) }
        return numbers.count == count ? numbers : nil
    }

    private static func small(_ words: [Substring], _ name: String) -> UInt32? {
        numbers(words, name, 1).flatMap { UInt32(exactly: $0[0]) }
    }

    private static func place(_ words: [Substring], _ name: String) -> WriteAheadLog.Place? {
        guard let numbers = numbers(words, name, 3), let frames = UInt32(exactly: numbers[1])
        else { return nil }
        return WriteAheadLog.Place(salts: numbers[0], frames: frames, checksum: numbers[2])
    }
}
