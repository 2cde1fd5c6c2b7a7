import Foundation
import StorageSQLite

/// The state of shipping a database's changes, stored in a file beside the database. While this
/// file exists, only the server may move frames from the write-ahead log into the database. The
/// file is empty until the server has made the backup that the changes follow.
///
/// If the file is an older version after a power failure, changes are shipped twice, which does no
/// harm. If the file is damaged, another backup is made.
struct ShippedChain: Hashable, Sendable {
    /// The name of the backup that the changes follow.
    var backup: String
    /// The number of the next file with changes.
    var number: Int
    /// The place in the write-ahead log up to which changes have been shipped.
    var place: WriteAheadLog.Place
    /// The identity that the database file had when all frames before the place had been moved into
    /// it. SQLite may restart the log from then on. Nil if not all frames were moved.
    ///
    /// If the database file is still the same after the log has restarted, nothing was moved in
    /// between. So no transaction was appended after the place and then overwritten.
    var moved: DatabaseFile?

    var isMoved: Bool { moved != nil }

    /// Properties of the database file that change whenever frames of the log are moved into it.
    struct DatabaseFile: Hashable, Sendable {
        /// The size of the file, in bytes.
        var bytes: Int64
        /// When the file was written, in microseconds since 1970.
        var writtenAt: Int64
    }

    /// The path of the file of a database.
    static func path(of database: String) -> String {
        Disk.resolvedName(database) + SQLiteFile.shippedSuffix
    }

    /// Makes the file if it does not exist, before the database is opened.
    static func begin(of database: String) throws {
        let path = path(of: database)
        guard !Disk.exists(path) else { return }
        try FileManager.default.createDirectory(
            atPath: Disk.folder(of: path), withIntermediateDirectories: true)
        try Disk.make(path)
    }

    /// Deletes the file. From then on, SQLite itself moves the frames of the log. Idempotent.
    static func remove(of database: String) { unlink(path(of: database)) }

    /// Reads the file. Returns nil if the file is missing, empty or damaged.
    init?(of database: String) {
        guard let bytes = FileManager.default.contents(atPath: Self.path(of: database)) else {
            return nil
        }
        let words = String(decoding: bytes, as: UTF8.self).split(separator: " ").map(String.init)
        guard words.count == 6, let number = Int(words[1]), let salts = UInt64(words[2]),
            let frames = UInt32(words[3]), let checksum = UInt64(words[4])
        else { return nil }
        self.init(
            backup: words[0], number: number,
            place: WriteAheadLog.Place(salts: salts, frames: frames, checksum: checksum),
            moved: DatabaseFile(text: words[5]))
    }

    init(backup: String, number: Int, place: WriteAheadLog.Place, moved: DatabaseFile?) {
        (self.backup, self.number) = (backup, number)
        (self.place, self.moved) = (place, moved)
    }

    /// Replaces the file in one step. The file always exists.
    static func write(_ chain: ShippedChain?, of database: String) throws {
        let path = path(of: database)
        let text = chain.map { chain in
            "\(chain.backup) \(chain.number) \(chain.place.salts) \(chain.place.frames) "
                + "\(chain.place.checksum) \(chain.moved?.text ?? "open")\n"
        }
        let fresh = path + ".new"
        unlink(fresh)
        try Disk.make(fresh)
        try Data((text ?? "").utf8).write(to: URL(fileURLWithPath: fresh))
        try Disk.rename(fresh, to: path)
    }
}

extension ShippedChain.DatabaseFile {
    /// Reads the present properties of a database's file. Returns nil if there is no file.
    init?(of database: String) {
        let path = Disk.resolvedName(database)
        guard let found = try? FileManager.default.attributesOfItem(atPath: path),
            let bytes = found[.size] as? NSNumber, let date = found[.modificationDate] as? Date
        else { return nil }
        self.init(
            bytes: bytes.int64Value, writtenAt: Int64(date.timeIntervalSince1970 * 1_000_000))
    }

    fileprivate init?(text: String) {
        let parts = text.trimmingCharacters(in: .newlines).split(separator: ":")
        guard parts.count == 3, parts[0] == "moved", let bytes = Int64(parts[1]),
            let writtenAt = Int64(parts[2])
        else { return nil }
        self.init(bytes: bytes, writtenAt: writtenAt)
    }

    fileprivate var text: String { "moved:\(bytes):\(writtenAt)" }
}
