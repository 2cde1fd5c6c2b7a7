import Foundation
import Storage

/// Reads the bytes of a database's write-ahead log, possibly while a server writes to the log.
///
/// A log has a header and frames. A frame contains a page, as a transaction wrote it. The checksum
/// of a frame continues the checksum of the frame before it. So the last committed frame is the
/// last frame that ends a transaction and has a correct checksum ("WAL-mode File Format" of
/// SQLite's documentation). When all frames are in the database file, the next writer begins the
/// log again, with other salts.
package struct WriteAheadLog: Sendable {
    /// A place between two transactions.
    package struct Place: Hashable, Sendable {
        /// Two numbers that change whenever the log is begun again, and so identify its present
        /// content. The upper half grows by one each time.
        package var salts: UInt64
        /// The number of frames before this place.
        package var frames: UInt32
        /// The checksum of everything before this place.
        package var checksum: UInt64

        package init(salts: UInt64, frames: UInt32, checksum: UInt64) {
            (self.salts, self.frames, self.checksum) = (salts, frames, checksum)
        }

        /// The upper half of the salts.
        package var count: UInt32 { UInt32(truncatingIfNeeded: salts >> 32) }
    }

    /// The pages that transactions have changed.
    package struct Changes: Hashable, Sendable {
        /// The last version of each page, by the page's number. The first page has the number 1.
        package var pages: [UInt32: [UInt8]] = [:]
        /// The number of pages of the database after the last transaction.
        package var pageCount: UInt32 = 0
        package var pageBytes: Int
        package var end: Place
        /// Whether further transactions follow, which were left out because of the limit.
        package var hasMore = false

        package init(pageBytes: Int, end: Place) { (self.pageBytes, self.end) = (pageBytes, end) }
    }

    /// The size of the changes, in bytes, after which one call reads no further transaction.
    package static let changesBytesMax = 67_108_864
    /// The maximum size of the pages of one transaction, in bytes.
    package static let transactionBytesMax = 536_870_912
    /// The maximum number of attempts to read the log, if a writer begins it again during an
    /// attempt.
    private static let readingsMax = 3
    /// The maximum size of a page of SQLite, in bytes.
    private static let pageBytesMax = 65_536
    private static let headerBytes = 32
    private static let frameBytes = 24
    private static let magic: UInt32 = 0x377f_0682

    private let path: String
    private let changesBytesMax: Int
    private let transactionBytesMax: Int

    /// - Parameters:
    ///   - database: the path of the database.
    ///   - changesBytesMax: see ``changesBytesMax``; smaller in tests.
    ///   - transactionBytesMax: see ``transactionBytesMax``; smaller in tests.
    package init(
        of database: String, changesBytesMax: Int = changesBytesMax,
        transactionBytesMax: Int = transactionBytesMax
    ) {
        path = database + "-wal"
        self.changesBytesMax = changesBytesMax
        self.transactionBytesMax = transactionBytesMax
    }

    /// The size of the file, in bytes. 0 if there is none.
    package var bytes: Int64 {
        var status = stat()
        return stat(path, &status) == 0 ? Int64(status.st_size) : 0
    }

    /// The place at the beginning of the log. Nil if there is no log.
    package func start() throws(StorageFailure) -> Place? {
        guard let file = try Reader(path) else { return nil }
        return file.start
    }

    /// The committed changes after a place. Returns all changes if the place is nil, or if the log
    /// was begun again after that place. Returns nil if there is no log.
    ///
    /// - Parameter collecting: whether the result contains the pages. If false, the limit
    ///   ``changesBytesMax`` does not apply.
    /// - Throws: ``StorageFailure``. Its kind is `other` if the content of the log before the place
    ///   has changed, or if a transaction is too large. Its kind is `unavailable` if the log cannot
    ///   be read.
    package func changes(
        after place: Place?, collecting: Bool = true
    ) throws(StorageFailure) -> Changes? {
        for _ in 0..<Self.readingsMax {
            guard let file = try Reader(path) else { return nil }
            guard let place, place.salts == file.start.salts else {
                return try changes(in: file, after: file.start, collecting: collecting)
            }
            if try file.hasContent(before: place) {
                return try changes(in: file, after: place, collecting: collecting)
            }
            // A writer may have begun the log again after its header was read.
            let again = try Reader(path)
            guard again?.start != file.start else { break }
        }
        throw StorageFailure("the write-ahead log \(path) has other content than before")
    }

    private func changes(
        in file: Reader, after place: Place, collecting: Bool
    ) throws(StorageFailure) -> Changes {
        var changes = Changes(pageBytes: file.pageBytes, end: place)
        var pending: [UInt32: [UInt8]] = [:]
        var here = place
        while let frame = try file.frame(at: here) {
            here = frame.end
            if collecting { pending[frame.page] = frame.content }
            guard pending.count * file.pageBytes <= transactionBytesMax else {
                throw StorageFailure(
                    "a transaction has changed more than \(transactionBytesMax >> 20) MiB")
            }
            guard frame.pageCount > 0 else { continue }
            guard changes.pages.count * file.pageBytes < changesBytesMax else {
                changes.hasMore = true
                break
            }
            changes.pages.merge(pending) { $1 }
            pending = [:]
            changes.pageCount = frame.pageCount
            changes.end = here
        }
        return changes
    }

    /// Reads the file of one log.
    private final class Reader {
        private let file: Int32
        private let path: String
        private let isBigEndian: Bool
        let pageBytes: Int
        private(set) var start = Place(salts: 0, frames: 0, checksum: 0)

        /// Returns nil if there is no log, or if its header is not complete yet.
        init?(_ path: String) throws(StorageFailure) {
            self.path = path
            file = open(path, O_RDONLY | O_CLOEXEC)
            let code = errno
            var header = [UInt8](repeating: 0, count: headerBytes)
            let count = file < 0 ? 0 : pread(file, &header, headerBytes, 0)
            let magic = header.number(at: 0)
            isBigEndian = magic & 1 == 1
            pageBytes = Int(header.number(at: 8))
            guard count == headerBytes, magic & ~1 == WriteAheadLog.magic,
                (1...pageBytesMax).contains(pageBytes)
            else {
                guard file >= 0 || code == ENOENT else {
                    throw StorageFailure(
                        "\(path): \(String(cString: strerror(code)))", kind: .unavailable)
                }
                return nil
            }
            let checksum = header.walChecksum(of: 0..<24, after: 0, isBigEndian: isBigEndian)
            guard checksum == header.pair(at: 24) else { return nil }
            start = Place(salts: header.pair(at: 16), frames: 0, checksum: checksum)
        }

        deinit { if file >= 0 { close(file) } }

        struct Frame {
            var page: UInt32
            /// The number of pages of the database if the frame ends a transaction, otherwise 0.
            var pageCount: UInt32
            var content: [UInt8]
            var end: Place
        }

        /// The frame after a place. Returns nil if there is none.
        func frame(at place: Place) throws(StorageFailure) -> Frame? {
            guard let bytes = try self.bytes(ofFrame: place.frames) else { return nil }
            guard bytes.pair(at: 8) == place.salts else { return nil }
            let head = bytes.walChecksum(of: 0..<8, after: place.checksum, isBigEndian: isBigEndian)
            let checksum = bytes.walChecksum(
                of: frameBytes..<bytes.count, after: head, isBigEndian: isBigEndian)
            guard checksum == bytes.pair(at: 16) else { return nil }
            return Frame(
                page: bytes.number(at: 0), pageCount: bytes.number(at: 4),
                content: Array(bytes[frameBytes...]),
                end: Place(salts: place.salts, frames: place.frames + 1, checksum: checksum))
        }

        /// Whether the last frame before a place is unchanged since the place was determined.
        func hasContent(before place: Place) throws(StorageFailure) -> Bool {
            guard place.frames > 0 else { return place.checksum == start.checksum }
            guard let bytes = try bytes(ofFrame: place.frames - 1) else { return false }
            return bytes.pair(at: 8) == place.salts && bytes.pair(at: 16) == place.checksum
        }

        private func bytes(ofFrame number: UInt32) throws(StorageFailure) -> [UInt8]? {
            let size = frameBytes + pageBytes
            var bytes = [UInt8](repeating: 0, count: size)
            let offset = headerBytes + Int(number) * size
            let count = pread(file, &bytes, size, off_t(offset))
            guard count >= 0 else {
                throw StorageFailure(
                    "\(path): \(String(cString: strerror(errno)))", kind: .unavailable)
            }
            return count == size ? bytes : nil
        }
    }
}

extension [UInt8] {
    /// Reads four bytes as a number, the most significant byte first.
    fileprivate func number(at offset: Int) -> UInt32 {
        UInt32(self[offset]) << 24 | UInt32(self[offset + 1]) << 16
            | UInt32(self[offset + 2]) << 8 | UInt32(self[offset + 3])
    }

    fileprivate func pair(at offset: Int) -> UInt64 {
        UInt64(number(at: offset)) << 32 | UInt64(number(at: offset + 4))
    }

    /// Continues a checksum of SQLite's write-ahead log. The length of the range is a multiple of
    /// eight.
    fileprivate func walChecksum(
        of range: Range<Int>, after checksum: UInt64, isBigEndian: Bool
    ) -> UInt64 {
        var first = UInt32(truncatingIfNeeded: checksum >> 32)
        var second = UInt32(truncatingIfNeeded: checksum)
        withUnsafeBytes { bytes in
            var offset = range.lowerBound
            while offset < range.upperBound {
                let one = bytes.loadUnaligned(fromByteOffset: offset, as: UInt32.self)
                let two = bytes.loadUnaligned(fromByteOffset: offset + 4, as: UInt32.self)
                first &+= (isBigEndian ? one.bigEndian : one.littleEndian) &+ second
                second &+= (isBigEndian ? two.bigEndian : two.littleEndian) &+ first
                offset += 8
            }
        }
        return UInt64(first) << 32 | UInt64(second)
    }
}
